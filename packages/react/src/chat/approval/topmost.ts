/** The distance of a tested point from the edges, as a share of the size. Corners can be round. */
const inset = 0.15;

/**
 * True if the user can see and reach the element: no other element is drawn above it, for example a panel, a
 * dialog or a film in full-screen mode. The browser reports neither through the position of the element.
 */
export function isUncovered(element: Element): boolean {
  const { left, top, width, height } = element.getBoundingClientRect();
  const shares = [inset, 0.5, 1 - inset];
  return shares.every((across) =>
    shares.every((down) => element.contains(topmostAt(left + across * width, top + down * height))),
  );
}

/** Returns the element that a click on this point of the window would reach, also in the shadow root of an element. */
export function topmostAt(x: number, y: number): Element | null {
  let found = document.elementFromPoint(x, y);
  for (;;) {
    const inner = found?.shadowRoot?.elementFromPoint(x, y) ?? null;
    if (inner === null || inner === found) return found;
    found = inner;
  }
}
