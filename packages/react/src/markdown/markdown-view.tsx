import { useId, useLayoutEffect, useMemo, useState } from 'react';
import { useHeldText } from './extras.ts';
import { FootnoteContext } from './footnote-view.tsx';
import { NodesView } from './node-view.tsx';
import { useTurn } from './shared-turns.ts';
import { MarkdownTree } from './tree/markdown-tree.ts';
import './markdown.css';

interface MarkdownViewProps {
  readonly text: string;
  /** True while the text can grow. */
  readonly isOpen: boolean;
}

/** The number of characters that are shown of a text that waits for its turn. */
const glanceLength = 1000;

/**
 * Renders untrusted Markdown. The text never becomes HTML of the page. Instead, React creates each
 * element, and only elements on an allow list. Long texts that appear together take turns.
 */
export function MarkdownView(props: MarkdownViewProps) {
  const [hasTurn, placeholder] = useTurn(props.text);
  if (hasTurn) return <FormattedText {...props} />;
  return (
    <div className="markdown" ref={placeholder} aria-busy>
      <p data-plain dir="auto">
        {props.text.slice(0, glanceLength)}
      </p>
    </div>
  );
}

function FormattedText({ text, isOpen }: MarkdownViewProps) {
  const [tree] = useState(() => new MarkdownTree());
  const { footnotes } = tree;
  const prefix = useId();
  const scope = useMemo(() => ({ footnotes, prefix, isOpen }), [footnotes, prefix, isOpen]);
  const shown = useHeldText(text);
  const nodes = tree.read(shown, !isOpen && shown.length === text.length);
  useLayoutEffect(() => footnotes.publish());
  return (
    <FootnoteContext value={scope}>
      <div className="markdown" data-open={isOpen || undefined}>
        <NodesView nodes={nodes} />
      </div>
    </FootnoteContext>
  );
}
