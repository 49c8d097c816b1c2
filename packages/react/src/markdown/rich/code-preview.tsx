import type { ReactNode } from 'react';
import { CsvView, readCsv } from './csv-view.tsx';
import { type FrameKind, FrameView } from './frame-view.tsx';

/** A preview of a code block. */
export interface CodePreview {
  /** True if the preview is visible at first. False if the user must click a button to see it. */
  readonly isFirst: boolean;
  /** Renders the preview. `onFailed` is called if the preview cannot be shown. */
  render(onFailed: () => void): ReactNode;
}

type MakePreview = (text: string, hasFrames: boolean) => CodePreview | undefined;

/** Maximum length of a text that a frame shows. */
const maxFramed = 500_000;

/**
 * Maximum length of a diagram that is drawn without a click. In some browsers, a frame that computes for a
 * long time blocks the page.
 */
const maxDrawnFirst = 4000;
/**
 * Maximum number of subgraphs of a diagram that is drawn without a click. The layout of nested subgraphs
 * takes long.
 */
const maxSubgraphs = 30;

function inFrame(kind: FrameKind, isDrawnFirst: boolean): MakePreview {
  return (text, hasFrames) => {
    if (!hasFrames || text.length > maxFramed) return undefined;
    const isShort =
      text.length <= maxDrawnFirst && text.split('subgraph').length - 1 <= maxSubgraphs;
    const isFirst = isDrawnFirst && isShort;
    return { isFirst, render: (onFailed) => <FrameView {...{ kind, text, onFailed }} /> };
  };
}

function asTable(separator: ',' | '\t'): MakePreview {
  return (text) => {
    const rows = readCsv(text, separator);
    return rows && { isFirst: true, render: () => <CsvView rows={rows} /> };
  };
}

/**
 * The previews by language. The preview of a document runs scripts, so the user must request it.
 */
const previews: ReadonlyMap<string, MakePreview> = new Map([
  ['html', inFrame('document', false)],
  ['svg', inFrame('document', false)],
  ['mermaid', inFrame('diagram', true)],
  ['csv', asTable(',')],
  ['tsv', asTable('\t')],
]);

/** Returns the preview of finished code. Returns undefined if it has none. */
export function previewOf(
  language: string,
  text: string,
  hasFrames: boolean,
): CodePreview | undefined {
  return previews.get(language)?.(text, hasFrames);
}
