import { useEffect, useId, useMemo, useState } from 'react';
import { useHeldText } from './extras.ts';
import { FootnoteContext } from './footnote-view.tsx';
import { MarkdownTree } from './markdown-tree.ts';
import { NodesView } from './node-view.tsx';
import './markdown.css';

interface MarkdownViewProps {
  readonly text: string;
  /** True while more text can follow. */
  readonly isOpen: boolean;
}

/**
 * Renders untrusted Markdown. The text never becomes HTML of the page: a closed list of
 * elements is built one by one.
 */
export function MarkdownView({ text, isOpen }: MarkdownViewProps) {
  const [tree] = useState(() => new MarkdownTree());
  const { footnotes } = tree;
  const prefix = useId();
  const scope = useMemo(() => ({ footnotes, prefix, isOpen }), [footnotes, prefix, isOpen]);
  const shown = useHeldText(text);
  const nodes = tree.read(shown, !isOpen && shown.length === text.length);
  useEffect(() => footnotes.publish());
  return (
    <FootnoteContext value={scope}>
      <div className="markdown" data-open={isOpen || undefined}>
        <NodesView nodes={nodes} />
      </div>
    </FootnoteContext>
  );
}
