import { type KeyboardEvent, useEffect, useId, useMemo, useRef } from 'react';
import { VList, type VListHandle } from 'virtua';
import { duration } from '../../design/time.tsx';
import type { Labels } from '../../labels/labels.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { percentIn, type TimeWindow } from '../timeline/zoom.ts';
import {
  type TreeAction,
  type TreeNode,
  type TreeRow,
  treeAction,
  visibleRows,
} from './tree-nodes.ts';
import './tree.css';

interface SpanTreeProps {
  readonly nodes: readonly TreeNode[];
  readonly folded: ReadonlySet<string>;
  readonly onFolded: (folded: ReadonlySet<string>) => void;
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
  /** Called when the user opens a span with Enter or a double click. */
  readonly onOpen: (node: TreeNode) => void;
  readonly window: TimeWindow;
  readonly positionOf: (time: number) => number;
  /** The time of the last record. The bar of an open span ends at this time. */
  readonly end: number;
  /** The time of the selected moment. Spans that start later are faint. */
  readonly now: number;
}

const rowHeight = 28;
/** If the user types the next letter within this time, it continues the same search. */
const typeMs = 800;

/**
 * The tree of spans, each with its bar on the time axis. The tree is one element for the keyboard.
 * Up and down move the selection, left and right fold, and letters search.
 */
export function SpanTree(props: SpanTreeProps) {
  const t = useLabels();
  const { nodes, folded, onFolded, selected, onSelect, onOpen } = props;
  const rows = useMemo(() => visibleRows(nodes, folded), [nodes, folded]);
  const list = useRef<VListHandle>(null);
  const typed = useRef({ text: '', at: 0 });
  const id = useId();
  const index = rows.findIndex(({ node }) => node.id === selected);
  useEffect(() => {
    if (index >= 0) list.current?.scrollToIndex(index, { align: 'nearest' });
  }, [index]);
  const apply = (action: TreeAction) => {
    if (action.type === 'select') return onSelect(action.id);
    const next = new Set(folded);
    for (const one of action.ids) action.type === 'fold' ? next.add(one) : next.delete(one);
    onFolded(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = rows[index]?.node;
    if (event.key === 'Enter' && node !== undefined) {
      event.preventDefault();
      return onOpen(node);
    }
    const action = treeAction(rows, selected, event.key, typedText(event, typed.current));
    if (action === undefined) return;
    event.preventDefault();
    // The inspector uses the same keys for the scrubber. So the event stops here.
    event.stopPropagation();
    apply(action);
  };
  if (rows.length === 0) return <p className="inspector-empty">{t.thereAreNoSpans}</p>;
  return (
    <VList
      ref={list}
      data={rows}
      itemSize={rowHeight}
      className="span-tree"
      role="tree"
      tabIndex={0}
      aria-label={t.spans}
      aria-activedescendant={index >= 0 ? `${id}-${index}` : undefined}
      onKeyDown={onKeyDown}
    >
      {(row: TreeRow, at: number) => (
        <SpanRow
          key={row.node.id}
          {...props}
          {...{ row, id: `${id}-${at}`, isSelected: at === index }}
          onToggle={() =>
            apply({ type: row.isExpanded === true ? 'fold' : 'unfold', ids: [row.node.id] })
          }
        />
      )}
    </VList>
  );
}

/** Returns the letters that the user typed in quick succession, including this key. */
function typedText({ key, timeStamp }: KeyboardEvent, typed: { text: string; at: number }): string {
  if (key.length !== 1) return '';
  const isNew = timeStamp - typed.at > typeMs;
  typed.text = isNew ? key : typed.text + key;
  typed.at = timeStamp;
  return typed.text;
}

interface SpanRowProps
  extends Pick<SpanTreeProps, 'onSelect' | 'onOpen' | 'window' | 'positionOf' | 'end' | 'now'> {
  readonly row: TreeRow;
  readonly id: string;
  readonly isSelected: boolean;
  readonly onToggle: () => void;
}

function SpanRow({ row, id, isSelected, onToggle, onSelect, onOpen, ...bar }: SpanRowProps) {
  const t = useLabels();
  const { node, level, position, siblings, isExpanded } = row;
  const { kind, status, name, detail, hasError } = node;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus
    <div
      id={id}
      className="span-row"
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={isExpanded}
      aria-selected={isSelected}
      data-kind={kind}
      data-status={status}
      data-open={node.endTime === undefined || undefined}
      data-future={node.startTime > bar.now || undefined}
      data-error={(hasError && isExpanded === false) || undefined}
      title={detail}
      onClick={() => onSelect(node.id)}
      onDoubleClick={() => onOpen(node)}
    >
      <span className="span-cell" style={{ paddingInlineStart: `${(level - 1) * 14}px` }}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: left and right do the same */}
        <span
          className="span-fold"
          data-expanded={isExpanded}
          onClick={(event) => {
            if (isExpanded === undefined) return;
            event.stopPropagation();
            onToggle();
          }}
        />
        <i className="span-kind" />
        <span className="unseen">{kindName(node, t)}</span>
        <span className="span-name">
          <b>{name}</b>
          {detail !== undefined && <em>{detail}</em>}
        </span>
        <small>{durationText(node, bar.end, t)}</small>
        <span className="unseen">{stateText(node, t)}</span>
      </span>
      <SpanBar node={node} {...bar} />
    </div>
  );
}

/** The bar of a span on the axis. The hatched part is the wait for the first token. */
function SpanBar({
  node,
  window,
  positionOf,
  end,
}: { readonly node: TreeNode } & Pick<SpanTreeProps, 'window' | 'positionOf' | 'end'>) {
  const { startTime, endTime, firstContentTime } = node;
  const left = percentIn(window, positionOf(startTime));
  const right = percentIn(window, positionOf(endTime ?? end));
  const width = Math.max(0.25, right - left);
  const first =
    firstContentTime === undefined ? 0 : percentIn(window, positionOf(firstContentTime)) - left;
  const isOutside = left > 100 || left + width < 0;
  return (
    <span className="span-plot">
      {!isOutside && (
        <span className="bar" style={{ left: `${left}%`, width: `${width}%` }}>
          {first > 0 && (
            <span className="bar-first" style={{ width: `${(first / width) * 100}%` }} />
          )}
        </span>
      )}
    </span>
  );
}

const kindNames: Readonly<
  Partial<Record<TreeNode['kind'], 'attempt' | 'call' | 'subAgent' | 'span'>>
> = { attempt: 'attempt', call: 'call', agent: 'subAgent', span: 'span' };

/**
 * Returns the duration of a span. While an approval is open, the log gets no records and the
 * duration is unknown.
 */
export function durationText(
  { kind, startTime, endTime }: TreeNode,
  end: number,
  t: Labels,
): string {
  const isWaiting = kind === 'approval' && endTime === undefined;
  return isWaiting ? t.waiting : duration((endTime ?? end) - startTime);
}

/**
 * Returns the kind of a span for screen readers. Returns an empty text if the name already starts
 * with the kind.
 */
function kindName({ kind, name }: TreeNode, t: Labels): string {
  const key = kindNames[kind];
  const text = key === undefined ? '' : t[key];
  return name.toLowerCase().startsWith(text.toLowerCase()) ? '' : text;
}

/** Describes the state that sighted users see as colors and patterns, for screen readers. */
function stateText({ endTime, status, firstContentTime, startTime }: TreeNode, t: Labels): string {
  const texts: string[] = [];
  if (firstContentTime !== undefined)
    texts.push(t.firstTokenAfter(duration(firstContentTime - startTime)));
  if (endTime === undefined) texts.push(t.inProgress);
  if (status === 'error') texts.push(t.failed);
  if (status === 'discarded') texts.push(t.discarded);
  return texts.join(', ');
}
