import { memo } from 'react';
import { useLabels } from '../labels/use-labels.ts';
import { CodeBlockView } from './code-view.tsx';
import { richExtra } from './extras.ts';
import { FootnoteView } from './footnote-view.tsx';
import { InlineView } from './inline-view.tsx';
import { MathBlock } from './math-view.tsx';
import { TableView } from './table-view.tsx';
import { type GrowingList, GrowingListView } from './tree/growing-list.tsx';
import type {
  CodeNode,
  ListItem,
  ListNode,
  MarkdownNode,
  ParagraphNode,
} from './tree/markdown-node.ts';

/** Renders the nodes of a document, a quote or a list item. */
export function NodesView({ nodes }: { readonly nodes: GrowingList<MarkdownNode> }) {
  return <GrowingListView list={nodes} render={renderNodes} />;
}

function renderNodes(nodes: readonly MarkdownNode[]) {
  // biome-ignore lint/suspicious/noArrayIndexKey: a node never changes its position
  return nodes.map((node, index) => <NodeView key={index} node={node} />);
}

/** Shows one node. It renders again only when it gets a different node object. */
const NodeView = memo(function NodeView({ node }: { readonly node: MarkdownNode }) {
  const t = useLabels();
  switch (node.kind) {
    case 'heading':
      return <HeadingView level={node.level} text={node.text} />;
    case 'paragraph':
      return <ParagraphView node={node} />;
    case 'code':
      return isMath(node) ? <MathBlock node={node} /> : <CodeBlockView node={node} />;
    case 'table':
      return <TableView node={node} />;
    case 'list':
      return <ListView node={node} />;
    case 'quote':
      return (
        <blockquote dir="auto">
          <NodesView nodes={node.children} />
        </blockquote>
      );
    case 'footnote':
      return (
        <FootnoteView node={node}>
          <NodesView nodes={node.children} />
        </FootnoteView>
      );
    case 'details':
      return (
        <details open={node.isOpen} dir="auto">
          <summary>{node.summary === '' ? t.details : <InlineView text={node.summary} />}</summary>
          <NodesView nodes={node.children} />
        </details>
      );
    case 'plain':
      return <PlainText pieces={node.pieces} />;
    case 'html':
      return <HtmlBlock pieces={node.pieces} />;
    case 'rule':
      return <hr />;
  }
});

function HtmlBlock({ pieces }: { readonly pieces: GrowingList<string> }) {
  const HtmlView = richExtra.loaded?.HtmlView;
  if (HtmlView !== undefined) return <HtmlView pieces={pieces} />;
  return <PlainText pieces={pieces} />;
}

function PlainText({ pieces }: { readonly pieces: GrowingList<string> }) {
  return (
    <p data-plain dir="auto">
      <GrowingListView list={pieces} render={renderText} />
    </p>
  );
}

/**
 * Returns true for a complete formula with its own lines. An incomplete formula is shown as code.
 */
function isMath({ info, isDone }: CodeNode): boolean {
  return isDone && info === 'math';
}

function renderText(pieces: readonly string[]) {
  return pieces.join('');
}

/** Shows a heading. Headings start at `h2`, because the page has its own `h1`. */
function HeadingView({ level, text }: { readonly level: number; readonly text: string }) {
  const Tag = `h${Math.max(2, level)}` as 'h2';
  return (
    <Tag data-depth={level} dir="auto">
      <InlineView text={text} />
    </Tag>
  );
}

function ParagraphView({ node: { text, isItemText, isRest } }: { readonly node: ParagraphNode }) {
  if (isItemText) return <InlineView text={text} />;
  return (
    <p data-rest={isRest || undefined} dir="auto">
      <InlineView text={text} />
    </p>
  );
}

function ListView({ node: { start, items } }: { readonly node: ListNode }) {
  const children = <GrowingListView list={items} render={renderItems} />;
  if (start === undefined) return <ul dir="auto">{children}</ul>;
  return (
    <ol start={start === 1 ? undefined : start} dir="auto">
      {children}
    </ol>
  );
}

function renderItems(items: readonly ListItem[]) {
  return items.map((item) => <ItemView key={item.id} item={item} />);
}

const ItemView = memo(function ItemView({ item }: { readonly item: ListItem }) {
  const t = useLabels();
  const isTask = item.isChecked !== undefined;
  return (
    <li data-task={isTask || undefined} data-apart={item.isApart || undefined}>
      {isTask && (
        <input
          type="checkbox"
          aria-label={item.isChecked ? t.taskDone : t.toDo}
          checked={item.isChecked}
          readOnly
          disabled
        />
      )}
      <NodesView nodes={item.children} />
    </li>
  );
});
