import { useId, useLayoutEffect, useMemo, useState } from 'react';
import { useHeldText } from './extras.ts';
import { FootnoteContext } from './footnote-view.tsx';
import { NodesView } from './node-view.tsx';
import { MarkdownTree } from './tree/markdown-tree.ts';
import './markdown.css';

interface MarkdownViewProps {
  readonly text: string;
  /** True while the text can grow. */
  readonly isOpen: boolean;
}

/**
 * Renders untrusted Markdown. The text never becomes HTML of the page. Instead, React creates each
 * element, and only elements on an allow list.
 */
export function MarkdownView({ text, isOpen }: MarkdownViewProps) {
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
