import { type Told, textRuns } from './text-runs.ts';
import './visible-text.css';

export interface VisibleTextProps {
  readonly text: string;
  readonly told?: Told;
}

/** A text of somebody who is not trusted, in which nothing hides: all that could is told. */
export function VisibleText({ text, told = 'all' }: VisibleTextProps) {
  return textRuns(text, told).map((run, at) =>
    run.shown === undefined ? (
      run.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: a run is known by its place
      <span key={at} className="told" data-lines={run.text.includes('\n') || undefined}>
        {run.shown}
      </span>
    ),
  );
}
