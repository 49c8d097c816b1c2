import type { SpanInfo } from '@millrace/client';
import type { Usage } from '@millrace/core';
import { type Span, type SpanKind, type SpanNode, spanTree } from '@millrace/core/spans';

/** A node of the tree: a span of the log, or a span that an agent reported. */
export interface TreeNode {
  readonly id: string;
  readonly kind: SpanKind | 'span';
  readonly name: string;
  readonly detail: string | undefined;
  readonly status: Span['status'];
  readonly startTime: number;
  readonly endTime: number | undefined;
  readonly firstContentTime: number | undefined;
  /** The span of the log. Undefined if an agent reported the span. */
  readonly span: Span | undefined;
  /** The span that an agent reported. Undefined if the node comes from the log. */
  readonly reported: SpanInfo | undefined;
  /** The usage of the node, including all nodes below it. */
  readonly usage: Usage | undefined;
  readonly hasError: boolean;
  readonly children: readonly TreeNode[];
}

/**
 * Returns the spans of a session as trees. Each reported span is below the run, turn, attempt or
 * call that contains it. Reported spans without such a parent come last.
 */
export function treeNodes(
  spans: readonly Span[],
  reported: readonly SpanInfo[],
): readonly TreeNode[] {
  const traced = new Set(spans.flatMap(({ traceSpanId }) => traceSpanId ?? []));
  const below = reportedNodes(reported, traced);
  const nodeOf = ({ span, children, usage, hasError }: SpanNode): TreeNode => {
    const { id, kind, name, detail, status, startTime, endTime, firstContentTime } = span;
    const own = span.traceSpanId === undefined ? [] : (below.get(span.traceSpanId) ?? []);
    return {
      ...{ id, kind, name, detail, status, startTime, endTime, firstContentTime },
      ...{ span, reported: undefined, usage, hasError },
      children: [...own, ...children.map(nodeOf)],
    };
  };
  return [...spanTree(spans).map(nodeOf), ...(below.get(undefined) ?? [])];
}

/** Returns the outermost reported spans. The key is the span of the log that contains them. */
function reportedNodes(
  reported: readonly SpanInfo[],
  traced: ReadonlySet<string>,
): ReadonlyMap<string | undefined, readonly TreeNode[]> {
  const known = new Set(reported.map(({ id }) => id));
  const children = Map.groupBy(byStart(reported), ({ parent_id }) => parent_id);
  const visited = new Set<string>();
  const nodesOf = (spans: readonly SpanInfo[]): readonly TreeNode[] =>
    spans.flatMap((span) => {
      // Reported spans can contain a cycle. Visited spans are skipped.
      if (visited.has(span.id)) return [];
      visited.add(span.id);
      const node = reportedNode(span, nodesOf(children.get(span.id) ?? []));
      return node === undefined ? [] : [node];
    });
  const roots = byStart(reported).filter(
    ({ parent_id }) => parent_id === null || !known.has(parent_id),
  );
  const groups = Map.groupBy(roots, ({ parent_id }) =>
    parent_id !== null && traced.has(parent_id) ? parent_id : undefined,
  );
  return new Map([...groups].map(([parent, spans]) => [parent, nodesOf(spans)]));
}

function byStart(spans: readonly SpanInfo[]): readonly SpanInfo[] {
  return spans.toSorted((a, b) => Date.parse(a.start_time) - Date.parse(b.start_time));
}

function reportedNode(span: SpanInfo, children: readonly TreeNode[]): TreeNode | undefined {
  const startTime = Date.parse(span.start_time);
  if (!Number.isFinite(startTime)) return undefined;
  const end = span.end_time === null ? Number.NaN : Date.parse(span.end_time);
  const endTime = Number.isFinite(end) ? Math.max(startTime, end) : undefined;
  return {
    ...{ id: `span ${span.id}`, kind: 'span', name: span.name, detail: undefined, status: 'ok' },
    ...{ startTime, endTime, firstContentTime: undefined, span: undefined, reported: span },
    ...{ usage: undefined, hasError: false, children },
  };
}

/** A visible row of the tree. */
export interface TreeRow {
  readonly node: TreeNode;
  /** The nesting level. 1 is the top level. */
  readonly level: number;
  readonly position: number;
  readonly siblings: number;
  readonly parent: string | undefined;
  /** True if the children of the node are visible. Undefined if the node has no children. */
  readonly isExpanded: boolean | undefined;
}

/** Returns the rows of all nodes that are not below a folded node. */
export function visibleRows(
  nodes: readonly TreeNode[],
  folded: ReadonlySet<string>,
): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (siblings: readonly TreeNode[], level: number, parent: string | undefined) => {
    for (const [index, node] of siblings.entries()) {
      const isExpanded = node.children.length === 0 ? undefined : !folded.has(node.id);
      const position = index + 1;
      rows.push({ node, level, position, siblings: siblings.length, parent, isExpanded });
      if (isExpanded === true) visit(node.children, level + 1, node.id);
    }
  };
  visit(nodes, 1, undefined);
  return rows;
}

/** The action of a key in the tree: select a row, fold a row, or unfold rows. */
export type TreeAction =
  | { readonly type: 'select'; readonly id: string }
  | { readonly type: 'fold' | 'unfold'; readonly ids: readonly string[] };

/**
 * Returns the action of a key, as the ARIA pattern for trees defines it. Returns undefined if the
 * key has no action. `typed` contains the letters that the user typed in quick succession,
 * including this key.
 */
export function treeAction(
  rows: readonly TreeRow[],
  selected: string | undefined,
  key: string,
  typed: string,
): TreeAction | undefined {
  const index = rows.findIndex(({ node }) => node.id === selected);
  const row = rows[index];
  const select = (at: number): TreeAction | undefined => {
    const to = rows[Math.min(rows.length - 1, Math.max(0, at))];
    return to === undefined ? undefined : { type: 'select', id: to.node.id };
  };
  switch (key) {
    case 'ArrowDown':
      return select(index + 1);
    case 'ArrowUp':
      return select(index - 1);
    case 'PageDown':
      return select(index + 10);
    case 'PageUp':
      return select(index - 10);
    case 'Home':
      return select(0);
    case 'End':
      return select(rows.length - 1);
    case 'ArrowRight':
      if (row?.isExpanded === false) return { type: 'unfold', ids: [row.node.id] };
      return row?.isExpanded === true ? select(index + 1) : undefined;
    case 'ArrowLeft':
      if (row?.isExpanded === true) return { type: 'fold', ids: [row.node.id] };
      return row?.parent === undefined ? undefined : { type: 'select', id: row.parent };
    case '*': {
      const ids = rows.filter(({ parent }) => parent === row?.parent).map(({ node }) => node.id);
      return { type: 'unfold', ids };
    }
    default:
      return typeAhead(rows, index, typed);
  }
}

/** Returns the next row whose name starts with the typed text. */
function typeAhead(rows: readonly TreeRow[], index: number, typed: string): TreeAction | undefined {
  if (typed.trim() === '') return undefined;
  const text = typed.toLowerCase();
  // While the user types more letters, the selected row can still match. A first letter moves to
  // the next row.
  const start = typed.length > 1 ? index : index + 1;
  const ordered = [...rows.slice(Math.max(0, start)), ...rows.slice(0, Math.max(0, start))];
  const found = ordered.find(({ node }) => node.name.toLowerCase().startsWith(text));
  return found === undefined ? undefined : { type: 'select', id: found.node.id };
}

/** Returns the node with this id and its ancestors, the root first. */
export function pathTo(nodes: readonly TreeNode[], id: string): readonly TreeNode[] {
  for (const node of nodes) {
    if (node.id === id) return [node];
    const path = pathTo(node.children, id);
    if (path.length > 0) return [node, ...path];
  }
  return [];
}

/** Returns the innermost node that contains a record. */
export function nodeAt(nodes: readonly TreeNode[], offset: number): TreeNode | undefined {
  let found: TreeNode | undefined;
  const visit = (all: readonly TreeNode[]) => {
    for (const node of all) {
      const { span, children } = node;
      if (span === undefined || span.offset > offset) continue;
      if ((span.endOffset ?? Number.POSITIVE_INFINITY) >= offset) found = node;
      visit(children);
    }
  };
  visit(nodes);
  return found;
}
