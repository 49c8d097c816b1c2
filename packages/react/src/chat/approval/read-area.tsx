import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { topmostAt } from './topmost.ts';
import './read-area.css';

interface ReadAreaProps {
  /** The accessible name of the content. */
  readonly label: string;
  /** Identifies the content. If the key changes, the user must read the content again. */
  readonly contentKey: string;
  /** Called with the key when the end of the content is visible. */
  readonly onEnd: (contentKey: string) => void;
  /** A hint below content that is longer than the area. */
  readonly hint?: string | undefined;
  readonly children: ReactNode;
}

/**
 * Shows long content in a scroll area, and short content without one. Calls `onEnd` when the end of
 * the content is visible. For short content, this happens immediately.
 */
export function ReadArea({ label, contentKey, onEnd, hint, children }: ReadAreaProps) {
  const t = useLabels();
  const area = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  useEndInSight(area, end, contentKey, onEnd);
  const { isLong, hasMore, height } = useOverflow(area, content);
  const hintId = useId();
  const down = () => area.current?.scrollBy({ top: area.current.clientHeight * 0.8 });
  const scrollable = isLong && {
    ...{ tabIndex: 0, role: 'group', 'aria-label': label },
    ...(hint !== undefined && { 'aria-describedby': hintId }),
  };
  return (
    <>
      {/* In a low window, long content keeps some lines. Short content leaves no empty space. */}
      <div className="approval-body" style={{ minHeight: `min(5rem, ${height}px)` }}>
        <div className="approval-scroll" ref={area} {...scrollable}>
          <div className="approval-content" ref={content}>
            {children}
            <div className="approval-end" ref={end} />
          </div>
        </div>
        {hasMore && (
          <Button size="small" onClick={down}>
            {t.moreBelow}
          </Button>
        )}
      </div>
      {isLong && hint !== undefined && (
        <p className="approval-hint" id={hintId}>
          {hint}
        </p>
      )}
    </>
  );
}

/**
 * Calls `onEnd` when the end element is visible on the screen, and nothing is above it. The scroll position of
 * the area is not enough. In a small window, the card and the page around the area can scroll too.
 */
function useEndInSight(
  area: RefObject<HTMLElement | null>,
  end: RefObject<HTMLElement | null>,
  contentKey: string,
  onEnd: (contentKey: string) => void,
): void {
  const latest = useRef(onEnd);
  latest.current = onEnd;
  useEffect(() => {
    const [box, last] = [area.current, end.current];
    if (box === null || last === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const check = () => {
      const { left, top, width } = last.getBoundingClientRect();
      // The end element is one pixel high, so the point is in the line above it.
      if (box.contains(topmostAt(left + width / 2, top - 2))) latest.current(contentKey);
      else timer = setTimeout(check, checkEveryMs);
    };
    const observer = new window.IntersectionObserver((entries) => {
      clearTimeout(timer);
      if (entries.at(-1)?.isIntersecting === true) check();
    });
    observer.observe(last);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [area, end, contentKey]);
}

/** Time between two checks whether something still covers the end, in milliseconds. */
const checkEveryMs = 100;

/** Maximum difference in pixels that rounding can cause. */
const tolerance = 4;

/**
 * Returns whether the content is longer than the area, whether more content follows below the visible
 * part, and the height of the content in pixels.
 */
function useOverflow(
  area: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
): { readonly isLong: boolean; readonly hasMore: boolean; readonly height: number } {
  const [height, setHeight] = useState(0);
  const [isLong, setLong] = useState(false);
  const [hasMore, setHasMore] = useState(false);
  useEffect(() => {
    const [box, inner] = [area.current, content.current];
    if (box === null || inner === null) return;
    const update = () => {
      const overflow = box.scrollHeight - box.clientHeight;
      setHeight(inner.offsetHeight);
      setLong(overflow > tolerance);
      setHasMore(overflow - box.scrollTop > tolerance);
    };
    const observer = new window.ResizeObserver(update);
    for (const element of [box, inner]) observer.observe(element);
    box.addEventListener('scroll', update);
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', update);
    };
  }, [area, content]);
  return { isLong, hasMore, height };
}

/** The distance that each key scrolls, as a share of the area's height. */
const scrollKeys: Readonly<Record<string, number>> = {
  ...{ ArrowDown: 0.1, ArrowUp: -0.1, PageDown: 0.8, PageUp: -0.8 },
  ...{ Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY },
};

/** Scrolls the area of a card with the keyboard. Returns false if the key does not scroll. */
export function scrollByKey(card: Element, key: string): boolean {
  const area = card.querySelector('.approval-scroll');
  const share = Object.hasOwn(scrollKeys, key) ? scrollKeys[key] : undefined;
  if (area === null || share === undefined) return false;
  const top = area.scrollTop + share * area.clientHeight;
  area.scrollTo({ top: Math.min(Math.max(top, 0), area.scrollHeight) });
  return true;
}
