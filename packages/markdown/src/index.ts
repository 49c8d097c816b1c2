export {
  type Alignment,
  type Block,
  type BlockContent,
  type BlockPosition,
  type CodeLine,
  type Container,
  type OnWork,
  startsItem,
  type TableBlock,
  type TableHead,
  type Task,
  tableHead,
  tableRow,
  taskOf,
} from './block.ts';
export { decodeEntities } from './entity.ts';
export type { FootnoteToken, InlineToken, Mark, MathToken } from './inline-token.ts';
export { hidesAddress, safeLink, showsAddress } from './links.ts';
export { MarkdownStream } from './markdown-stream.ts';
export { parseInline } from './parse-inline.ts';
