import { type InlineToken, type Mark, parseInline } from '@millrace/markdown';
import { Fragment, type ReactElement, type ReactNode } from 'react';
import { richExtra } from './extras.ts';
import { FootnoteReference } from './footnote-view.tsx';
import { LinkView, PictureLink, PictureText } from './link-view.tsx';
import { MathView } from './math-view.tsx';
import type { RichToken, SafeTag } from './rich/safe-html.ts';

/**
 * Renders the text of a block. Only HTML elements on the allow list become elements. All other tags
 * are text.
 */
export function InlineView({ text }: { readonly text: string }) {
  const tokens = parseInline(text);
  const pairTags = text.includes('<') ? richExtra.loaded?.pairTags : undefined;
  return elementsOf(pairTags === undefined ? tokens : pairTags(tokens));
}

/**
 * Maximum depth of nested marks. Deeper marks are ignored, because browsers and React are slow or
 * fail with thousands of levels.
 */
const maxDepth = 32;

/**
 * Maximum number of elements in one text. The rest is shown without format, so that a hostile text cannot
 * block the page.
 */
const maxElements = 2000;

interface OpenMark {
  readonly mark: Mark | SafeTag | undefined;
  readonly children: ReactNode[];
}

function elementsOf(tokens: readonly (InlineToken | RichToken)[]): ReactNode {
  const root: OpenMark = { mark: undefined, children: [] };
  const open: OpenMark[] = [root];
  let tooDeep = 0;
  let elements = 0;
  for (const token of tokens) {
    const { children } = open.at(-1) ?? root;
    if (elements >= maxElements && token.type !== 'close' && token.type !== 'end') {
      addText(children, plainText(token));
      if (token.type === 'open' || token.type === 'start') tooDeep++;
      continue;
    }
    if (token.type !== 'text') elements++;
    switch (token.type) {
      case 'text':
      case 'html':
        addText(children, token.text);
        break;
      case 'code':
        children.push(<code key={children.length}>{token.text}</code>);
        break;
      case 'math':
        children.push(<MathView key={children.length} {...token} />);
        break;
      case 'footnote':
        children.push(<FootnoteReference key={children.length} {...token} />);
        break;
      case 'break':
        if (token.isHard) children.push(<br key={children.length} />);
        else addText(children, '\n');
        break;
      case 'open':
      case 'start':
        if (open.length > maxDepth) tooDeep++;
        else open.push({ mark: 'mark' in token ? token.mark : token.tag, children: [] });
        break;
      case 'void':
        children.push(
          <Fragment key={children.length}>{elementOf(token.tag, [], isInLink(open))}</Fragment>,
        );
        break;
      case 'close':
      case 'end': {
        if (tooDeep > 0) {
          tooDeep--;
          break;
        }
        const closed = open.pop();
        const parent = open.at(-1) ?? root;
        if (closed?.mark === undefined) break;
        const element = elementOf(closed.mark, closed.children, isInLink(open));
        parent.children.push(<Fragment key={parent.children.length}>{element}</Fragment>);
      }
    }
  }
  return root.children;
}

/** Returns a token as text without format. */
function plainText(token: InlineToken | RichToken): string {
  switch (token.type) {
    case 'text':
    case 'html':
      return token.text;
    case 'code':
      return `\`${token.text}\``;
    case 'math':
    case 'footnote':
      return token.source;
    case 'break':
      return '\n';
    default:
      return '';
  }
}

/** Adds a text. Consecutive texts are joined, so that the page has fewer nodes. */
function addText(children: ReactNode[], text: string): void {
  const last = children.at(-1);
  if (typeof last === 'string') children[children.length - 1] = last + text;
  else children.push(text);
}

function isInLink(open: readonly OpenMark[]): boolean {
  return open.some(({ mark }) => mark !== undefined && linkOf(mark) !== undefined);
}

/** Returns the address of a link, in Markdown or in HTML. */
function linkOf(mark: Mark | SafeTag): string | undefined {
  if ('name' in mark) return mark.name === 'a' ? String(mark.props['address']) : undefined;
  return mark.type === 'link' ? mark.address : undefined;
}

function elementOf(mark: Mark | SafeTag, children: ReactNode, isNested: boolean): ReactElement {
  if ('name' in mark) {
    const SafeElement = richExtra.loaded?.SafeElement;
    // A link cannot contain a link. A picture in a link is shown as text, because it would have
    // buttons.
    const isText = isNested && (mark.name === 'a' || mark.name === 'img');
    if (SafeElement === undefined || isText) return <span>{children}</span>;
    return <SafeElement tag={mark}>{children}</SafeElement>;
  }
  switch (mark.type) {
    case 'strong':
      return <strong>{children}</strong>;
    case 'emphasis':
      return <em>{children}</em>;
    case 'strike':
      return <del>{children}</del>;
    case 'link':
      // An address inside the text of a link would be a second link, so it is shown as text.
      return isNested ? (
        <span>{children}</span>
      ) : (
        <LinkView address={mark.address}>{children}</LinkView>
      );
    case 'image': {
      if (isNested)
        return (
          <span>
            <PictureText address={mark.address}>{children}</PictureText>
          </span>
        );
      const View = richExtra.loaded?.PictureView ?? PictureLink;
      return <View address={mark.address}>{children}</View>;
    }
  }
}
