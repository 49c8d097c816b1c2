import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** Up to this distance from the end, in pixels, the list counts as scrolled to its end. */
const nearPx = 48;

/** The events with which a user scrolls. */
const scrollInputs = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

interface StickyEnd {
  /** True if the list follows new content. */
  readonly isAtEnd: boolean;
  readonly goToEnd: () => void;
  /**
   * The list stops following new content. Returns a function that ends the pause. The list then
   * follows new content again if it is at its end.
   */
  readonly pause: () => () => void;
  /** Must be called after the rows of the list got new sizes, before the browser paints. */
  readonly onResize: () => void;
}

/** The element below a pressed pointer, and where it was. */
interface PressedElement {
  readonly element: Element;
  readonly top: number;
}

/**
 * Keeps the end of a growing list visible until the user scrolls up. `rest` contains the content after
 * the rows.
 */
export function useStickyEnd(
  scroller: RefObject<HTMLElement | null>,
  rest: RefObject<HTMLElement | null>,
  of: unknown,
): StickyEnd {
  const [isAtEnd, setAtEnd] = useState(true);
  const isSticky = useRef(true);
  const pauses = useRef(0);
  const pressed = useRef<PressedElement | undefined>(undefined);
  const goToEnd = useCallback(() => {
    isSticky.current = true;
    setAtEnd(true);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [scroller]);

  const pause = useCallback(() => {
    pauses.current++;
    isSticky.current = false;
    setAtEnd(isNearEnd(scroller.current));
    return () => {
      pauses.current--;
      if (pauses.current > 0) return;
      isSticky.current = isNearEnd(scroller.current);
      setAtEnd(isSticky.current);
    };
  }, [scroller]);

  const onResize = useCallback(() => {
    const { current: element } = scroller;
    if (element === null) return;
    if (pressed.current === undefined) {
      if (isSticky.current) element.scrollTop = element.scrollHeight;
    } else if (pressed.current.element.isConnected) {
      // The virtual list scrolls when a row above the visible area grows. For some time after a
      // scroll, the list also scrolls when a partly visible row grows. The pressed element would then move.
      const moved = topOf(pressed.current.element) - pressed.current.top;
      if (moved !== 0) element.scrollTop += moved;
    }
  }, [scroller]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new list starts at its end
  useEffect(goToEnd, [goToEnd, of]);

  useEffect(() => {
    const { current: element } = scroller;
    if (element === null) return;
    let last = { top: element.scrollTop, height: element.scrollHeight };
    // Measuring rows also changes the scroll position. So only a scroll by the user can stop the
    // list from following new content.
    let isUserScrolling = false;
    const onScrollInput = () => {
      isUserScrolling = true;
    };
    const onScroll = () => {
      const { scrollTop: top, scrollHeight: height } = element;
      const isUp = top < last.top - 1 && (isUserScrolling || height === last.height);
      last = { top, height };
      if (pressed.current !== undefined) pressed.current = positionOf(pressed.current.element);
      const isNear = isNearEnd(element);
      if (isNear) isSticky.current ||= pauses.current === 0;
      else if (isUp) isSticky.current = false;
      setAtEnd(isSticky.current || isNear);
    };
    const onScrollEnd = () => {
      isUserScrolling = false;
    };
    // A click counts only if the pointer is on the same element when it goes down and up. So nothing
    // moves while it is down.
    const scrollToEnd = () => {
      if (pressed.current !== undefined) return;
      if (isSticky.current) element.scrollTop = element.scrollHeight;
      else setAtEnd(isNearEnd(element));
    };
    const onPress = ({ target, button }: PointerEvent) => {
      // The browser does not report when the user releases the scroll bar.
      const isContent = target instanceof Element && target !== element;
      pressed.current = button === 0 && isContent ? positionOf(target) : undefined;
    };
    const onRelease = () => {
      if (pressed.current === undefined) return;
      pressed.current = undefined;
      // The click comes directly after this event.
      setTimeout(scrollToEnd);
    };
    const onMove = ({ buttons }: PointerEvent) => {
      if (buttons === 0) onRelease();
    };
    // `onResize` covers the rows. An observer of the whole list would report a new row height one frame
    // too late, because the list is an ancestor of its rows, and would cause a second frame.
    const observer = new ResizeObserver(scrollToEnd);
    observer.observe(element);
    if (rest.current !== null) observer.observe(rest.current);
    const controller = new AbortController();
    const options = { passive: true, signal: controller.signal } as const;
    element.addEventListener('scroll', onScroll, options);
    element.addEventListener('scrollend', onScrollEnd, options);
    for (const type of scrollInputs) element.addEventListener(type, onScrollInput, options);
    element.addEventListener('pointerdown', onPress, options);
    element.addEventListener('pointermove', onMove, options);
    window.addEventListener('pointerup', onRelease, options);
    window.addEventListener('pointercancel', onRelease, options);
    return () => {
      observer.disconnect();
      controller.abort();
    };
  }, [scroller, rest]);

  return { isAtEnd, goToEnd, pause, onResize };
}

function positionOf(element: Element): PressedElement {
  return { element, top: topOf(element) };
}

function topOf(element: Element): number {
  return element.getBoundingClientRect().top;
}

function isNearEnd(element: HTMLElement | null): boolean {
  if (element === null) return true;
  const { scrollHeight, scrollTop, clientHeight } = element;
  return scrollHeight - scrollTop - clientHeight <= nearPx;
}
