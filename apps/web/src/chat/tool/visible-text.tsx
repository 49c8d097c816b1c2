import { textRuns } from './text-runs.ts';
import './visible-text.css';

/** A text of somebody who is not trusted, in which nothing hides: all that could is told. */
export function VisibleText({ text }: { readonly text: string }) {
  return textRuns(text).map((run, at) =>
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
