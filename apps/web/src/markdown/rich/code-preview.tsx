import type { ReactNode } from 'react';
import { CsvView, readCsv } from './csv-view.tsx';
import { type FrameKind, FrameView } from './frame-view.tsx';

/** Another form of a code block. */
export interface CodePreview {
  /** True if the preview is shown first. False if the user has to ask for it. */
  readonly isFirst: boolean;
  /** Renders the preview. `onFailed` is called if the text has no preview after all. */
  render(onFailed: () => void): ReactNode;
}

type MakePreview = (text: string) => CodePreview | undefined;

/** Maximum length of a text that is shown in a frame. */
const maxFramed = 500_000;

function inFrame(kind: FrameKind, isFirst: boolean): MakePreview {
  return (text) => {
    if (text.length > maxFramed) return undefined;
    return { isFirst, render: (onFailed) => <FrameView {...{ kind, text, onFailed }} /> };
  };
}

function asTable(separator: ',' | '\t'): MakePreview {
  return (text) => {
    const rows = readCsv(text, separator);
    return rows && { isFirst: true, render: () => <CsvView rows={rows} /> };
  };
}

/** The previews by language. A document runs its scripts, so the user has to ask for its preview. */
const previews: ReadonlyMap<string, MakePreview> = new Map([
  ['html', inFrame('document', false)],
  ['svg', inFrame('document', false)],
  ['mermaid', inFrame('diagram', true)],
  ['csv', asTable(',')],
  ['tsv', asTable('\t')],
]);

/** Returns the preview of finished code. Returns undefined if it has none. */
export function previewOf(language: string, text: string): CodePreview | undefined {
  return previews.get(language)?.(text);
}
