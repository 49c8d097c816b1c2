import type { MarkedToken, Token } from 'marked';
import { Fragment, type ReactNode } from 'react';
import { safeLink } from './safe-link.ts';
import { unescaped } from './unescaped.ts';

/** Words as elements. What is HTML in the source is shown as the text that it is. */
export function InlineView({ tokens }: { readonly tokens: readonly Token[] | undefined }) {
  return (tokens ?? []).map((token, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their place
    <Fragment key={at}>{inline(token as MarkedToken)}</Fragment>
  ));
}

function inline(token: MarkedToken): ReactNode {
  switch (token.type) {
    case 'strong':
      return (
        <strong>
          <InlineView tokens={token.tokens} />
        </strong>
      );
    case 'em':
      return (
        <em>
          <InlineView tokens={token.tokens} />
        </em>
      );
    case 'del':
      return (
        <del>
          <InlineView tokens={token.tokens} />
        </del>
      );
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <LinkView href={token.href}>{<InlineView tokens={token.tokens} />}</LinkView>;
    // A picture of somebody else's host would tell it that this was read.
    case 'image':
      return <LinkView href={token.href}>{`Picture: ${token.text || token.href}`}</LinkView>;
    case 'text':
      return token.tokens ? <InlineView tokens={token.tokens} /> : unescaped(token.text);
    case 'escape':
      return token.text;
    case 'checkbox':
      return null;
    default:
      return token.raw;
  }
}

function LinkView({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const safe = safeLink(unescaped(href));
  if (safe === undefined) return <span title="This link is not followed">{children}</span>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
      {children}
    </a>
  );
}
