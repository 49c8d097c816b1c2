import type { LogRecord } from '@millrace/core';
import type { SessionModel } from '../model/session-model.ts';
import { partText } from '../part-text.ts';
import type { TrackMark } from './track.ts';

/** A line of a thumbnail. Its width is a share of the whole width, from 0 to 1. */
export interface ThumbnailLine {
  readonly kind: 'text' | 'reasoning' | 'tool_call' | 'tool_result' | 'other';
  readonly width: number;
}

/** The content of a turn in a small size. */
export interface TurnSummary {
  /** The first words of the turn. Undefined if the turn has no text yet. */
  readonly words: string | undefined;
  /** The parts of the turn as lines, from top to bottom. */
  readonly lines: readonly ThumbnailLine[];
}

/** The properties of `TurnPreview`. */
export interface TurnPreviewProps {
  readonly mark: TrackMark;
  /** The content of the turn. Undefined if it is not loaded. */
  readonly summary: TurnSummary | undefined;
  /** The place on the track that the user points at, from 0 to 1. */
  readonly place: number;
}

/** A small preview of a turn above the scrubber: its name, a thumbnail of its content, its first words. */
export function TurnPreview({ mark: { label, hasError }, summary, place }: TurnPreviewProps) {
  const left = `clamp(0px, calc(${place * 100}% - 7rem), calc(100% - 14rem))`;
  const { words, lines = [] } = summary ?? {};
  return (
    <div className="scrubber-preview" aria-hidden="true" style={{ left }}>
      <b data-error={hasError || undefined}>{label}</b>
      {lines.length > 0 && <Thumbnail lines={lines} />}
      {words !== undefined && <span>{words}</span>}
    </div>
  );
}

/** The distance between two lines, and the width of a thumbnail, in units of the drawing. */
const linePx = 4;
const widthPx = 100;

function Thumbnail({ lines }: Pick<TurnSummary, 'lines'>) {
  return (
    <svg
      className="thumbnail"
      aria-hidden="true"
      viewBox={`0 0 ${widthPx} ${lines.length * linePx}`}
      height={lines.length * linePx}
      preserveAspectRatio="none"
    >
      {lines.map(({ kind, width }, at) => (
        <rect
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
          key={at}
          data-kind={kind}
          y={at * linePx}
          width={Math.max(2, width * widthPx)}
          height={linePx - 1.5}
          rx="1"
        />
      ))}
    </svg>
  );
}

/** Maximum number of records that a preview reads. */
const maxRecords = 5_000;
const maxWords = 120;
const maxLines = 16;
/** The number of characters in a line of a thumbnail. */
const lineLength = 60;
/** Maximum number of lines for the output of a tool, which can be very long. */
const maxResultLines = 3;

/**
 * Summarizes the records from `offset` to the record before `end`. Returns undefined if these records are
 * not loaded.
 */
export function turnSummary(
  { records, after }: Pick<SessionModel, 'records' | 'after'>,
  offset: number,
  end = Number.POSITIVE_INFINITY,
): TurnSummary | undefined {
  const start = records.findIndex((record) => record.offset >= offset);
  if (start < 0 || offset <= after) return undefined;
  const parts = new Map<string, { kind: ThumbnailLine['kind']; length: number }>();
  let words = '';
  let lastPart: string | undefined;
  for (const record of records.slice(start, start + maxRecords)) {
    if (record.offset >= end) break;
    const { delta } = record;
    addPart(parts, delta);
    if (delta?.type !== 'append_text' || words.length >= maxWords) continue;
    // The arguments of a call are not words that a user reads.
    if (parts.get(delta.partId)?.kind === 'tool_call') continue;
    words += lastPart === undefined || lastPart === delta.partId ? delta.chunk : ` ${delta.chunk}`;
    lastPart = delta.partId;
  }
  const lines = [...parts.values()].flatMap(({ kind, length }) => linesOf(kind, length));
  return { words: words === '' ? undefined : words.slice(0, maxWords), lines: fewerLines(lines) };
}

function addPart(
  parts: Map<string, { kind: ThumbnailLine['kind']; length: number }>,
  delta: LogRecord['delta'],
): void {
  switch (delta?.type) {
    case 'begin_part':
      return void parts.set(delta.partId, { kind: lineKind(delta.kind), length: 0 });
    case 'append_text': {
      const part = parts.get(delta.partId);
      if (part !== undefined) part.length = delta.at + delta.chunk.length;
      return;
    }
    case 'commit_part': {
      if (delta.part === undefined) return;
      const { part } = delta;
      const length = partText(part).length;
      return void parts.set(delta.partId, { kind: lineKind(part.kind), length });
    }
    case 'retract_part':
      return void parts.delete(delta.partId);
    default:
      return;
  }
}

function lineKind(kind: string): ThumbnailLine['kind'] {
  switch (kind) {
    case 'text':
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return kind;
    default:
      return 'other';
  }
}

function linesOf(kind: ThumbnailLine['kind'], length: number): readonly ThumbnailLine[] {
  if (kind === 'tool_call' || kind === 'other') return [{ kind, width: 0.4 }];
  const all = Math.ceil(length / lineLength);
  const shown = kind === 'tool_result' ? Math.min(maxResultLines, all) : all;
  return Array.from({ length: Math.min(shown, maxRecords) }, (_, at) => ({
    kind,
    width: Math.min(1, length / lineLength - at),
  }));
}

/** Leaves out lines at equal distances, so that a long turn keeps its proportions. */
function fewerLines(lines: readonly ThumbnailLine[]): readonly ThumbnailLine[] {
  if (lines.length <= maxLines) return lines;
  return Array.from({ length: maxLines }, (_, at) => {
    const from = Math.floor((at * lines.length) / maxLines);
    return lines[from] ?? { kind: 'text', width: 1 };
  });
}
