import { useState } from 'react';
import { MarkdownTree } from './markdown-tree.ts';
import { NodesView } from './node-view.tsx';
import './markdown.css';

interface MarkdownViewProps {
  readonly text: string;
  /** True while more text can follow. */
  readonly isOpen: boolean;
}

/** Renders untrusted Markdown. HTML in the text never becomes HTML of the page. */
export function MarkdownView({ text, isOpen }: MarkdownViewProps) {
  const [tree] = useState(() => new MarkdownTree());
  return (
    <div className="markdown" data-open={isOpen || undefined}>
      <NodesView nodes={tree.read(text, !isOpen)} />
    </div>
  );
}
