import { type MarkdownOptions, MarkdownRenderer } from './markdown-renderer.ts';
import { MarkdownStream } from './markdown-stream.ts';

/** Markdown for a terminal of so many cells. Nothing in the text can control the terminal. */
export function markdownToAnsi(
  text: string,
  options: MarkdownOptions & { readonly width: number },
): string {
  const stream = new MarkdownStream(options.onWork);
  const renderer = new MarkdownRenderer(options);
  stream.push(text);
  return renderer.render(stream.end(), options.width).join('\n');
}
