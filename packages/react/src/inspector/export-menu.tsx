import {
  encodeRecord,
  encodeTranscript,
  type FoldState,
  type LogRecord,
  transcript,
} from '@millrace/core';
import { useMillrace } from '../context.ts';
import { Button } from '../design/button.tsx';
import { useLabels } from '../labels/use-labels.ts';
import { CopyButton } from '../markdown/copy-button.tsx';
import { SaveIcon } from './inspector-icons.tsx';
import type { SessionModel } from './model/session-model.ts';

interface ExportMenuProps {
  readonly taskId: string;
  readonly model: SessionModel;
  readonly at: number | undefined;
  readonly offset: number | undefined;
}

/** Buttons that copy a link to the selected moment, and that save the records or the transcript. */
export function ExportMenu({ taskId, model, at, offset }: ExportMenuProps) {
  const t = useLabels();
  const saveRecords = () =>
    save(fileName(taskId, undefined, 'jsonl'), 'application/x-ndjson', recordLines(model.records));
  const saveTranscript = () => {
    const { checkpoints } = model;
    const state = at === undefined ? checkpoints.head : checkpoints.stateAt(at);
    save(fileName(taskId, at, 'transcript.json'), 'application/json', [transcriptText(state)]);
  };
  const { momentUrl } = useMillrace();
  const link = momentUrl && new URL(momentUrl(taskId, offset), location.href).href;
  return (
    <div className="export" role="toolbar" aria-label={t.exportMenu}>
      <Button size="small" look="quiet" title={t.exportRecords} onClick={saveRecords}>
        <SaveIcon /> {t.records}
      </Button>
      <Button size="small" look="quiet" title={t.exportTranscript} onClick={saveTranscript}>
        <SaveIcon /> {t.transcript}
      </Button>
      {link !== undefined && <CopyButton text={link} label={t.copyMomentLink} />}
    </div>
  );
}

function save(name: string, type: string, pieces: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...pieces], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The URL is revoked after a delay, because the download must start first.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Returns a log as JSON lines. It returns an array, because a long log would not fit into one
 * string.
 */
export function recordLines(records: readonly LogRecord[]): readonly string[] {
  return records.map((record) => `${encodeRecord(record)}\n`);
}

/** Returns the committed transcript as JSON. */
export function transcriptText(state: FoldState): string {
  return encodeTranscript(transcript(state));
}

function fileName(taskId: string, at: number | undefined, ending: string): string {
  const safe = taskId.replace(/[^\w-]+/g, '_').slice(0, 60);
  return at === undefined ? `${safe}.${ending}` : `${safe}-at-${at}.${ending}`;
}
