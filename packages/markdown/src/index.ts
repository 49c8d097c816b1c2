export type {
  Block,
  BlockContent,
  BlockPosition,
  CodeLine,
  Container,
  OnWork,
  TableBlock,
  Task,
} from './block.ts';
export { startsItem, taskOf } from './block.ts';
export type { InlineToken, Mark } from './inline-token.ts';
export { safeLink } from './links.ts';
export { MarkdownStream } from './markdown-stream.ts';
export { parseInline } from './parse-inline.ts';
export { type Alignment, type TableHead, tableHead, tableRow } from './table.ts';
