import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Virtualizer } from 'virtua';
import { Button } from '../../design/button.tsx';
import { AlertIcon, ClockIcon, DownIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { HoldTexts } from '../../markdown/extras.ts';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import { SubAgentView } from '../sub-agent/lane-context.ts';
import { ItemView, KeepRow } from './item-view.tsx';
import { useStickyEnd } from './sticky-end.ts';
import './transcript-view.css';
import type { ItemId } from '@millrace/core';
import type { Notice } from '../state/notice.ts';

// Loaded only when it is needed, because few sessions have sub-agents.
const SubAgentLane = lazyView(
  async () => (await import('../sub-agent/sub-agent-lane.tsx')).SubAgentLane,
);

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
  const rest = useRef<HTMLDivElement>(null);
  const rows = useRows(source);
  const isExtended = useIsExtended(rows);
  const { isAtEnd, goToEnd, pause, onResize } = useStickyEnd(
    scroller,
    rest,
    `${source.id} ${sentCount}`,
  );
  const [kept, keepRow] = useKeptRows(rows, pause);
  const [isHeld, hold] = useHeldRows(source.id, rows.length);
  return (
    <div className="transcript-frame">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll */}
      <section className="transcript" ref={scroller} aria-label={t.conversation} tabIndex={0}>
        {rows.length === 0 && <p className="transcript-empty">{emptyText}</p>}
        <div className="transcript-rows" data-held={isHeld || undefined}>
          <SubAgentView value={SubAgentLane}>
            <KeepRow value={keepRow}>
              <HoldTexts value={hold}>
                <Virtualizer
                  scrollRef={scroller}
                  data={rows}
                  keepMounted={kept}
                  shift={isExtended}
                  startMargin={startMarginPx}
                  bufferSize={600}
                  onResize={onResize}
                >
                  {(row) => <RowView key={row.key} row={row} source={source} />}
                </Virtualizer>
              </HoldTexts>
            </KeepRow>
          </SubAgentView>
          <div ref={rest}>{children}</div>
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

/**
 * Returns true in the render in which earlier rows were added before the known ones. The list then
 * keeps the visible rows in their place.
 */
function useIsExtended(rows: readonly Row[]): boolean {
  const last = useRef({ rows, isExtended: false });
  if (last.current.rows !== rows) {
    const before = last.current.rows;
    const isSameEnd = before.length > 0 && before.at(-1)?.key === rows.at(-1)?.key;
    last.current = { rows, isExtended: isSameEnd && before[0]?.key !== rows[0]?.key };
  }
  return last.current.isExtended;
}

const noRows: readonly number[] = [];

/**
 * Returns the positions of the rows that stay mounted, and a function that keeps a row mounted. The
 * list does not follow new content while a row is kept, because the user works in that row.
 */
function useKeptRows(rows: readonly Row[], pause: () => () => void) {
  const [ids, setIds] = useState<readonly ItemId[]>([]);
  const keep = useCallback(
    (id: ItemId) => {
      setIds((before) => [...before, id]);
      const resume = pause();
      return () => {
        setIds((before) => before.filter((one) => one !== id));
        resume();
      };
    },
    [pause],
  );
  const kept = useMemo(() => {
    if (ids.length === 0) return noRows;
    return rows.flatMap((row, at) => (row.type === 'item' && ids.includes(row.id) ? [at] : []));
  }, [rows, ids]);
  return [kept, keep] as const;
}

/**
 * Returns two values: whether the first rows of a session are still hidden, and a function `hold`. A text
 * whose drawing code is not loaded yet calls `hold`, and calls the returned function when the code has
 * arrived. Until then, the rows stay hidden. A text that grows later would move the rows around it, so all
 * rows appear together. Rows that were visible once stay visible. The first message of a new session does not
 * wait, because the user has just sent it.
 */
function useHeldRows(id: string, rowCount: number) {
  const [waitCount, setWaitCount] = useState(0);
  const [isHeld, setHeld] = useState(false);
  const [visibleId, setVisibleId] = useState<string>();
  const isVisible = visibleId === id;
  const isHolding = useRef(false);
  isHolding.current = !isVisible && rowCount > 1;
  const hold = useCallback(() => {
    if (!isHolding.current) return () => {};
    setWaitCount((before) => before + 1);
    setHeld(true);
    return () => setWaitCount((before) => before - 1);
  }, []);
  const isReady = !isVisible && rowCount > 0 && waitCount === 0;
  useEffect(() => {
    if (!isReady) return;
    // The list measures its rows in the first frame, and the rows at its end in the second frame.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        setVisibleId(id);
        setHeld(false);
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [id, isReady]);
  return [isHeld, hold] as const;
}
