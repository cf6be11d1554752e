// Charts under a film: scores of the run, which stay the same, and measures of the chosen heads' attention.
import { Chart } from "./charts.js";
import { find } from "./elements.js";
import { translated } from "./texts.js";

// measures are { name, titleOf, meaningOf, format, valueOf(run, settings) }; scoredOn says what scores are of;
// go(step) is told where a click leads.
export function makeCharts({ charts }, { steps, go, scoredOn, measures }) {
  const plain = (value) => value.toFixed(Math.abs(value) < 1 ? 3 : 2);
  const chart = (name, titleOf, meaningOf, format = plain) => (
    new Chart(find("charts"), name, { titleOf, meaningOf, format, go }));
  const scores = charts.map(({ name, values }) => ({ chart: chart(name, () => translated(name), scoredOn), values }));
  const measured = measures.map(({ name, titleOf, meaningOf, format, valueOf }) => (
    { chart: chart(name, titleOf, meaningOf, format), valueOf }));
  const furthest = Math.max(...steps, ...charts.flatMap(({ values }) => values.map(([step]) => step)));
  return { scores, measured, furthest, all: [...scores, ...measured].map((one) => one.chart), drawn: "" };
}

export function showCharts(charts, { frames, steps, settings, step }) {
  const drawn = JSON.stringify([settings.run, settings.layer, settings.heads]);
  if (charts.drawn !== drawn) {
    charts.drawn = drawn;
    charts.scores.forEach(({ chart, values }) => chart.show(values, charts.furthest));
    for (const { chart, valueOf } of charts.measured) {
      const values = steps.map((one, number) => [one, valueOf(frames(number)[settings.run], settings)]);
      chart.show(values, charts.furthest);
    }
  }
  charts.all.forEach((chart) => chart.mark(step));
}
