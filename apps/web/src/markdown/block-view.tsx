import type { MarkedToken, Tokens } from 'marked';
import { memo } from 'react';
import { CodeView } from './code-view.tsx';
import { InlineView } from './inline-view.tsx';
import type { MarkdownBlock } from './markdown-blocks.ts';
import { TableView } from './table-view.tsx';

/** Renders again only when its block is another. */
export const BlockView = memo(function BlockView({ block }: { readonly block: MarkdownBlock }) {
  return <TokenView token={block.token} isDone={block.isDone} />;
});

interface TokenProps {
  readonly token: MarkedToken;
  readonly isDone: boolean;
}

function TokenView({ token, isDone }: TokenProps) {
  switch (token.type) {
    case 'heading':
      return <HeadingView token={token} />;
    case 'code':
      return <CodeView text={token.text} lang={token.lang} isDone={isDone} />;
    case 'list':
      return <ListView token={token} isDone={isDone} />;
    case 'table':
      return <TableView token={token} />;
    case 'blockquote':
      return (
        <blockquote dir="auto">
          <TokensView tokens={token.tokens as MarkedToken[]} isDone={isDone} />
        </blockquote>
      );
    case 'hr':
      return <hr />;
    case 'text':
      // Inside of tight lists it is words; as a block of its own, what was too long to be read.
      return token.tokens ? <InlineView tokens={token.tokens} /> : <PlainView text={token.text} />;
    case 'paragraph':
      return (
        <p dir="auto">
          <InlineView tokens={token.tokens} />
        </p>
      );
    case 'space':
    case 'def':
    case 'checkbox':
      return null;
    default:
      return <p dir="auto">{token.raw}</p>;
  }
}

function TokensView({
  tokens,
  isDone,
}: {
  readonly tokens: readonly MarkedToken[];
  readonly isDone: boolean;
}) {
  return tokens.map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <TokenView key={at} token={token} isDone={isDone || at < tokens.length - 1} />
  ));
}

/** What is not read, or not yet. */
function PlainView({ text }: { readonly text: string }) {
  return (
    <p data-plain dir="auto">
      {text}
    </p>
  );
}

/** Below the page's own first heading. */
function HeadingView({ token }: { readonly token: Tokens.Heading }) {
  const Tag = `h${Math.max(2, token.depth)}` as 'h2';
  return (
    <Tag data-depth={token.depth} dir="auto">
      <InlineView tokens={token.tokens} />
    </Tag>
  );
}

function ListView({ token, isDone }: { readonly token: Tokens.List; readonly isDone: boolean }) {
  const items = token.items.map((item, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <li key={at} data-task={item.task || undefined}>
      {item.task && (
        <input
          type="checkbox"
          aria-label={item.checked ? 'Done' : 'To do'}
          checked={item.checked ?? false}
          readOnly
          disabled
        />
      )}
      <TokensView
        tokens={item.tokens as MarkedToken[]}
        isDone={isDone || at < token.items.length - 1}
      />
    </li>
  ));
  const start = typeof token.start === 'number' && token.start !== 1 ? token.start : undefined;
  return token.ordered ? (
    <ol start={start} dir="auto">
      {items}
    </ol>
  ) : (
    <ul dir="auto">{items}</ul>
  );
}
