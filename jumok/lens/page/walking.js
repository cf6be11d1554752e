// Words or patches that can be pointed at, pinned and walked over, by mouse, touch and keys.

// Elements of the list carry their number as data-place. point(place or null) and pin(place or null) are told what the
// viewer does; goalOf(key, place) says where a key leads; leaving root with the focus ends the pointing.
export function listenToPlaces(list, { root = list, places, point, pin, canPin = true, goalOf }) {
  const placeOf = (event) => {
    const found = event.target.closest("[data-place]");
    return found && Number(found.dataset.place);
  };
  const pointAt = (event) => {
    const place = placeOf(event);
    if (place !== null) point(place);
  };
  list.addEventListener("pointerover", pointAt);
  list.addEventListener("focusin", (event) => {
    places().forEach((one) => (one.tabIndex = one === event.target ? 0 : -1));
    pointAt(event);
  });
  list.addEventListener("focusout", (event) => {
    if (!root.contains(event.relatedTarget)) point(null);
  });
  list.addEventListener("click", (event) => {
    const place = placeOf(event);
    if (place !== null && canPin) pin(place);
  });
  list.addEventListener("keydown", (event) => {
    const place = placeOf(event);
    if (place === null) return;
    const goal = goalOf(event.key, place);
    if (goal !== undefined) places()[goal]?.focus();
    else if (canPin && (event.key === "Enter" || event.key === " ")) pin(place);
    else if (event.key === "Escape") pin(null);
    else return;
    event.preventDefault();
  });
}
