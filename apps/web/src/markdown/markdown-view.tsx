import { useState } from 'react';
import { BlockView } from './block-view.tsx';
import { MarkdownBlocks } from './markdown-blocks.ts';
import './markdown.css';

interface MarkdownViewProps {
  readonly text: string;
  /** More may come. */
  readonly isOpen: boolean;
}

/** Untrusted Markdown as elements: no HTML of it reaches the page as HTML. */
export function MarkdownView({ text, isOpen }: MarkdownViewProps) {
  const [blocks] = useState(() => new MarkdownBlocks());
  return (
    <div className="markdown" data-open={isOpen || undefined}>
      {blocks.read(text, !isOpen).map((block) => (
        <BlockView key={block.key} block={block} />
      ))}
    </div>
  );
}
