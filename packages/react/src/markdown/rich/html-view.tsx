import { createElement, type ReactNode, useMemo } from 'react';
import { LinkView } from '../link-view.tsx';
import { type GrowingList, GrowingListView } from '../tree/growing-list.tsx';
import { PictureView } from './picture-view.tsx';
import { type HtmlNode, readHtml, type SafeTag } from './safe-html.ts';

/**
 * Maximum length of an HTML block that is rendered as elements. A longer block is shown as text.
 */
const maxLength = 16_384;

interface HtmlViewProps {
  readonly pieces: GrowingList<string>;
}

/** Shows an HTML block. Tags on the allow list become elements, and all other tags are text. */
export function HtmlView({ pieces }: HtmlViewProps) {
  const nodes = useMemo(() => {
    let text = '';
    for (const piece of pieces) {
      text += piece;
      if (text.length > maxLength) return undefined;
    }
    return readHtml(text);
  }, [pieces]);
  if (nodes === undefined)
    return (
      <p data-plain dir="auto">
        <GrowingListView list={pieces} render={renderText} />
      </p>
    );
  return (
    <div className="markdown-html" dir="auto">
      {elementsOf(nodes)}
    </div>
  );
}

function renderText(pieces: readonly string[]) {
  return pieces.join('');
}

function elementsOf(nodes: readonly HtmlNode[]): ReactNode {
  return nodes.map((node, index) =>
    typeof node === 'string' ? (
      node
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: a node never changes its position
      <SafeElement key={index} tag={node}>
        {node.children.length > 0 && elementsOf(node.children)}
      </SafeElement>
    ),
  );
}

interface SafeElementProps {
  readonly tag: Pick<SafeTag, 'name' | 'props'>;
  readonly children?: ReactNode;
}

/**
 * Shows an HTML element of the allow list. Links and pictures follow the same rules as in Markdown.
 */
export function SafeElement({ tag: { name, props }, children }: SafeElementProps) {
  if (name === 'a') return <LinkView address={String(props['address'])}>{children}</LinkView>;
  if (name === 'img')
    return <PictureView address={String(props['address'])}>{props['alt']}</PictureView>;
  // The page has its own `h1`, so this one becomes an `h2`.
  const shown = name === 'h1' ? 'h2' : name;
  const isVoid = shown === 'br' || shown === 'hr' || shown === 'wbr';
  return isVoid ? createElement(shown) : createElement(shown, props, children || undefined);
}
