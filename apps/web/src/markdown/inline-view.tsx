import {
  hidesAddress,
  type InlineToken,
  type Mark,
  parseInline,
  safeLink,
} from '@millrace/markdown';
import { Fragment, isValidElement, type ReactElement, type ReactNode } from 'react';
import { FootnoteReference } from './footnote-view.tsx';
import { MathView } from './math-view.tsx';

/** Renders the text of a block. HTML in the source is shown as text. */
export function InlineView({ text }: { readonly text: string }) {
  return elementsOf(parseInline(text));
}

/**
 * Maximum depth of nested marks. Deeper marks are not shown, because browsers and React are slow or
 * fail with thousands of levels.
 */
const maxDepth = 32;

interface OpenMark {
  readonly mark: Mark | undefined;
  readonly children: ReactNode[];
}

function elementsOf(tokens: readonly InlineToken[]): ReactNode {
  const root: OpenMark = { mark: undefined, children: [] };
  const open: OpenMark[] = [root];
  let tooDeep = 0;
  for (const token of tokens) {
    const { children } = open.at(-1) ?? root;
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
        if (open.length > maxDepth) tooDeep++;
        else open.push({ mark: token.mark, children: [] });
        break;
      case 'close': {
        if (tooDeep > 0) {
          tooDeep--;
          break;
        }
        const closed = open.pop();
        const parent = open.at(-1) ?? root;
        if (closed?.mark === undefined) break;
        const isInLink = open.some(({ mark }) => mark?.type === 'link');
        const element = elementOf(closed.mark, closed.children, isInLink);
        parent.children.push(<Fragment key={parent.children.length}>{element}</Fragment>);
      }
    }
  }
  return root.children;
}

/** Adds a text. Consecutive texts are joined, so that the page has fewer nodes. */
function addText(children: ReactNode[], text: string): void {
  const last = children.at(-1);
  if (typeof last === 'string') children[children.length - 1] = last + text;
  else children.push(text);
}

function elementOf(mark: Mark, children: ReactNode, isInLink: boolean): ReactElement {
  switch (mark.type) {
    case 'strong':
      return <strong>{children}</strong>;
    case 'emphasis':
      return <em>{children}</em>;
    case 'strike':
      return <del>{children}</del>;
    case 'link':
      // An address in the text of a link is a link by itself.
      return isInLink ? (
        <span>{children}</span>
      ) : (
        <LinkView address={mark.address}>{children}</LinkView>
      );
    case 'image':
      return (
        <PictureLink address={mark.address} isInLink={isInLink}>
          {children}
        </PictureLink>
      );
  }
}

interface LinkProps {
  readonly address: string;
  readonly children: ReactNode;
}

function LinkView({ address, children }: LinkProps) {
  const safe = safeLink(address);
  if (safe === undefined) return <span title="This link is not followed">{children}</span>;
  return (
    <>
      <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
        {children}
      </a>
      {hidesAddress(textOf(children), address) && ` (${safe})`}
    </>
  );
}

/** The visible text of elements that this module creates. */
function textOf(node: ReactNode): string {
  if (typeof node === 'string') return node;
  if (Array.isArray(node)) return node.map(textOf).join('');
  return isValidElement<{ readonly children?: ReactNode }>(node) ? textOf(node.props.children) : '';
}

/**
 * Shows a picture as a link. The page does not load the picture, because its host would then know
 * that the text was read.
 */
function PictureLink({ address, isInLink, children }: LinkProps & { readonly isInLink: boolean }) {
  const isNamed = Array.isArray(children) && children.length > 0;
  const text = (
    <>
      {'Picture: '}
      {isNamed ? children : address}
    </>
  );
  return isInLink ? <span>{text}</span> : <LinkView address={address}>{text}</LinkView>;
}
