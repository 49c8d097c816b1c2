import { type FootnoteToken, parseInline } from '@millrace/markdown';
import {
  createContext,
  type KeyboardEvent,
  type ReactNode,
  use,
  useId,
  useState,
  useSyncExternalStore,
} from 'react';
import { useLabels } from '../labels/use-labels.ts';
import type { FootnoteStore } from './tree/footnote-store.ts';
import type { FootnoteNode } from './tree/markdown-node.ts';
import './footnote.css';

/** Data about the text that contains the references and footnotes. */
export interface FootnoteScope {
  readonly footnotes: FootnoteStore;
  /** The prefix of the ids of all elements. It is different for each text on the page. */
  readonly prefix: string;
  /** True while the text can grow. */
  readonly isOpen: boolean;
}

export const FootnoteContext = createContext<FootnoteScope | undefined>(undefined);

/**
 * Shows a reference as a raised label, with a preview of the footnote. A reference without a
 * footnote is shown as text. While the text grows, a numeric label is raised before its footnote
 * arrives. So the line does not change when the footnote arrives.
 */
export function FootnoteReference({ label, source }: Omit<FootnoteToken, 'type'>) {
  const scope = use(FootnoteContext);
  const found = useSyncExternalStore(
    scope?.footnotes.subscribe ?? subscribeToNothing,
    () => scope?.footnotes.get(label)?.index,
    () => scope?.footnotes.get(label)?.index,
  );
  if (scope !== undefined && found !== undefined)
    return <LinkedReference scope={scope} label={label} index={found} />;
  const isExpected = scope?.isOpen === true && /^\d+$/.test(label);
  return isExpected ? <sup className="footnote-mark">{label}</sup> : source;
}

const subscribeToNothing = () => () => {};

/**
 * Minimum space above a reference to show the preview there, in pixels. With less space, the
 * preview is below.
 */
const spaceAbove = 240;

interface LinkedReferenceProps {
  readonly scope: FootnoteScope;
  readonly label: string;
  readonly index: number;
}

function LinkedReference({ scope, label, index }: LinkedReferenceProps) {
  const t = useLabels();
  const [isShown, setShown] = useState(false);
  const previewId = useId();
  const hide = () => setShown(false);
  const [isBelow, setBelow] = useState(false);
  const show = ({ currentTarget }: { readonly currentTarget: Element }) => {
    setBelow(currentTarget.getBoundingClientRect().top < spaceAbove);
    setShown(true);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isShown) return;
    event.stopPropagation();
    hide();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only the link inside is used with the keyboard
    <span className="footnote-place" onMouseEnter={show} onMouseLeave={hide}>
      <sup className="footnote-mark">
        <a
          href={`#${idOf(scope, index)}`}
          data-note={idOf(scope, index)}
          aria-label={t.footnote(label)}
          aria-describedby={isShown ? previewId : undefined}
          onFocus={show}
          onBlur={hide}
          onKeyDown={onKeyDown}
          onClick={(event) => {
            event.preventDefault();
            hide();
            event.currentTarget.dataset['from'] = 'true';
            focusOn(rootOf(event.currentTarget).getElementById(idOf(scope, index)));
          }}
        >
          {label}
        </a>
      </sup>
      {isShown && (
        <span
          role="tooltip"
          id={previewId}
          className="footnote-preview"
          data-below={isBelow || undefined}
        >
          {footnoteText(scope.footnotes.get(label)?.node)}
        </span>
      )}
    </span>
  );
}

interface FootnoteViewProps {
  readonly node: FootnoteNode;
  readonly children: ReactNode;
}

/** Shows a footnote with a link back to the reference that the reader clicked. */
export function FootnoteView({ node, children }: FootnoteViewProps) {
  const t = useLabels();
  const scope = use(FootnoteContext);
  const stored = scope?.footnotes.get(node.label);
  const isValid = scope !== undefined && stored?.node.id === node.id;
  const id = isValid ? idOf(scope, stored.index) : undefined;
  return (
    <div className="footnote" role="note" id={id} tabIndex={-1} dir="auto">
      <span className="footnote-label">
        {node.label}
        {id !== undefined && (
          <a
            className="footnote-back"
            href={`#${id}`}
            aria-label={t.backToReference(node.label)}
            onClick={(event) => {
              event.preventDefault();
              focusOn(referenceTo(rootOf(event.currentTarget), id));
            }}
          >
            ↩
          </a>
        )}
      </span>
      <div className="footnote-text">{children}</div>
    </div>
  );
}

function idOf({ prefix }: FootnoteScope, index: number): string {
  return `${prefix}-note-${index}`;
}

/** Returns the reference that the reader followed last. Otherwise it returns the first reference. */
function referenceTo(root: ParentNode, id: string): HTMLElement | null {
  const all = [...root.querySelectorAll<HTMLElement>('[data-note]')];
  const own = all.filter(({ dataset }) => dataset['note'] === id);
  const followed = own.find(({ dataset }) => dataset['from'] === 'true');
  for (const { dataset } of own) delete dataset['from'];
  return followed ?? own[0] ?? null;
}

/** Returns the document of an element, or the shadow root in which it is. */
function rootOf(element: Element): Document | ShadowRoot {
  return element.getRootNode() as Document | ShadowRoot;
}

function focusOn(target: HTMLElement | null): void {
  target?.scrollIntoView({ block: 'nearest' });
  target?.focus();
}

/** Maximum length of a preview. */
const maxPreview = 280;

/** Returns the start of a footnote as plain text. */
function footnoteText(node: FootnoteNode | undefined): string {
  let text = '';
  for (const child of node?.children ?? []) {
    if (text.length > maxPreview) break;
    if (child.kind === 'paragraph' || child.kind === 'heading') text += ` ${plainText(child.text)}`;
    else text += ' …';
  }
  const trimmed = text.trim();
  return trimmed.length > maxPreview ? `${trimmed.slice(0, maxPreview).trimEnd()} …` : trimmed;
}

function plainText(source: string): string {
  const tokens = parseInline(source.slice(0, 4 * maxPreview));
  const texts = tokens.map((token) => {
    if (token.type === 'break') return ' ';
    if (token.type === 'footnote') return '';
    return 'text' in token ? token.text : '';
  });
  return texts.join('').toWellFormed();
}
