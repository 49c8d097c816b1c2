import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** So near to the end counts as there. */
const nearPx = 48;

/** What somebody does to scroll. */
const wishes = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

export interface StickyEnd {
  /** It stays at the end as more comes. */
  readonly isAtEnd: boolean;
  readonly goToEnd: () => void;
}

/** Keeps the end of a growing list in sight, until somebody scrolls up. */
export function useStickyEnd(scroller: RefObject<HTMLElement | null>, of: unknown): StickyEnd {
  const [isAtEnd, setAtEnd] = useState(true);
  const isSticky = useRef(true);
  const goToEnd = useCallback(() => {
    isSticky.current = true;
    setAtEnd(true);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  }, [scroller]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins at its end
  useEffect(goToEnd, [goToEnd, of]);

  useEffect(() => {
    const { current: element } = scroller;
    if (element === null) return;
    let last = { top: element.scrollTop, height: element.scrollHeight };
    // Rows that are measured move what is in sight as well, and that is nobody's wish.
    let isWished = false;
    const wish = () => {
      isWished = true;
    };
    const onScroll = () => {
      const { scrollTop: top, scrollHeight: height } = element;
      const isUp = top < last.top - 1 && (isWished || height === last.height);
      last = { top, height };
      if (height - top - element.clientHeight <= nearPx) isSticky.current = true;
      else if (isUp) isSticky.current = false;
      setAtEnd(isSticky.current);
    };
    const onScrollEnd = () => {
      isWished = false;
    };
    const keep = () => {
      if (isSticky.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(keep);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    const heard = new AbortController();
    const how = { passive: true, signal: heard.signal } as const;
    element.addEventListener('scroll', onScroll, how);
    element.addEventListener('scrollend', onScrollEnd, how);
    for (const type of wishes) element.addEventListener(type, wish, how);
    return () => {
      observer.disconnect();
      heard.abort();
    };
  }, [scroller]);

  return { isAtEnd, goToEnd };
}
