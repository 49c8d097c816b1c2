import {
  lazy,
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Virtualizer } from 'virtua';
import { Button } from '../../design/button.tsx';
import { AlertIcon, ClockIcon, DownIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import { SubAgentView } from '../sub-agent/lane-context.ts';
import { ItemView } from './item-view.tsx';
import './transcript-view.css';
import type { ItemId } from '@millrace/core';
import type { Notice } from '../state/notice.ts';

// Few sessions have sub-agents.
const SubAgentLane = lazy(async () => ({
  default: (await import('../sub-agent/sub-agent-lane.tsx')).SubAgentLane,
}));

/** The properties of `TranscriptView`. */
export interface TranscriptViewProps {
  readonly source: ChatSource;
  /**
   * The number of messages that the user has sent. When it changes, the list scrolls to the end.
   */
  readonly sentCount?: number | undefined;
  /** The text for an empty conversation. Default: none. */
  readonly emptyText?: string | undefined;
  /** Content after the last row. */
  readonly children?: ReactNode;
}

/** The conversation as a virtual list: the DOM contains only the visible rows. */
export function TranscriptView({
  source,
  sentCount = 0,
  emptyText,
  children,
}: TranscriptViewProps) {
  const t = useLabels();
  const scroller = useRef<HTMLElement>(null);
  const rows = useRows(source);
  const { isAtEnd, goToEnd } = useStickyEnd(scroller, `${source.id} ${sentCount}`);
  return (
    <div className="transcript-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll */}
      <section className="transcript" ref={scroller} aria-label={t.conversation} tabIndex={0}>
        {rows.length === 0 && <p className="transcript-empty">{emptyText}</p>}
        <div className="transcript-rows">
          <SubAgentView value={SubAgentLane}>
            <Virtualizer
              scrollRef={scroller}
              data={rows}
              startMargin={startMarginPx}
              bufferSize={600}
            >
              {(row) => <RowView key={row.key} row={row} source={source} />}
            </Virtualizer>
          </SubAgentView>
          {children}
        </div>
      </section>
      {!isAtEnd && (
        <div className="to-end">
          <Button size="small" onClick={goToEnd}>
            <DownIcon /> {t.toTheEnd}
          </Button>
        </div>
      )}
    </div>
  );
}

/** The padding above the rows. It must match the style sheet. */
const startMarginPx = 24;

interface RowViewProps {
  readonly row: Row;
  readonly source: ChatSource;
}

const RowView = memo(function RowView({ row, source }: RowViewProps) {
  return (
    <div className="transcript-row">
      {row.type === 'item' ? (
        <ItemView source={source} id={row.id} />
      ) : (
        <NoticeView notice={row.notice} />
      )}
    </div>
  );
});

function NoticeView({ notice }: { readonly notice: Notice }) {
  const t = useLabels();
  const { look, text, detail } = notice;
  return (
    <div className="notice" data-look={look}>
      {look === 'plain' ? <ClockIcon /> : <AlertIcon />}
      {detail === undefined ? (
        <span>{text(t)}</span>
      ) : (
        <details>
          <summary>{text(t)}</summary>
          <p>{detail}</p>
        </details>
      )}
    </div>
  );
}

type Row =
  | { readonly type: 'item'; readonly key: string; readonly id: ItemId }
  | { readonly type: 'notice'; readonly key: string; readonly notice: Notice };

const selectItemIds = ({ itemIds }: ChatSource) => itemIds;
const selectNotices = ({ facts }: ChatSource) => facts.notices;

/**
 * Returns the rows of the list. Returns the same array until an item or a notice is added or
 * removed.
 */
function useRows(source: ChatSource): readonly Row[] {
  const ids = useSourceValue(source, selectItemIds);
  const notices = useSourceValue(source, selectNotices);
  return useMemo(() => rowsOf(source, ids, notices), [source, ids, notices]);
}

function rowsOf(
  source: ChatSource,
  ids: readonly ItemId[],
  notices: readonly Notice[],
): readonly Row[] {
  const after = Map.groupBy(notices, (notice) => notice.after);
  const rowsAfter = (id: ItemId | undefined) =>
    (after.get(id) ?? []).map((notice): Row => ({ type: 'notice', key: `n${notice.id}`, notice }));
  const rows = ids.flatMap((id): readonly Row[] => {
    // Items with tool results have no row of their own, because the tool card of the call shows the
    // result.
    const isShown = source.item(id)?.kind !== 'tool';
    const own: readonly Row[] = isShown ? [{ type: 'item', key: `i${id}`, id }] : [];
    return [...own, ...rowsAfter(id)];
  });
  return [...rowsAfter(undefined), ...rows];
}

/** Up to this distance from the end, in pixels, the list counts as scrolled to its end. */
const nearPx = 48;

/** The events with which a user scrolls. */
const scrollInputs = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

interface StickyEnd {
  /** True if the list follows new content. */
  readonly isAtEnd: boolean;
  readonly goToEnd: () => void;
}

/** Keeps the end of a growing list visible until the user scrolls up. */
function useStickyEnd(scroller: RefObject<HTMLElement | null>, of: unknown): StickyEnd {
  const [isAtEnd, setAtEnd] = useState(true);
  const isSticky = useRef(true);
  const goToEnd = useCallback(() => {
    isSticky.current = true;
    setAtEnd(true);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
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
      if (height - top - element.clientHeight <= nearPx) isSticky.current = true;
      else if (isUp) isSticky.current = false;
      setAtEnd(isSticky.current);
    };
    const onScrollEnd = () => {
      isUserScrolling = false;
    };
    const scrollToEnd = () => {
      if (isSticky.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(scrollToEnd);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    const controller = new AbortController();
    const options = { passive: true, signal: controller.signal } as const;
    element.addEventListener('scroll', onScroll, options);
    element.addEventListener('scrollend', onScrollEnd, options);
    for (const type of scrollInputs) element.addEventListener(type, onScrollInput, options);
    return () => {
      observer.disconnect();
      controller.abort();
    };
  }, [scroller]);

  return { isAtEnd, goToEnd };
}
