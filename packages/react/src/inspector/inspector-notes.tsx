import { Button } from '../design/button.tsx';
import { numberText, useLabels } from '../labels/use-labels.ts';
import type { InspectedState } from './model/inspected-session.ts';

interface InspectorNotesProps {
  readonly inspected: InspectedState;
  readonly at: number | undefined;
  readonly retry: () => void;
}

/**
 * Shows a note about the records of the session: loading, too large, failed, or empty. Also shows a
 * note if a link points to a record that does not exist.
 */
export function InspectorNotes({ inspected, at, retry }: InspectorNotesProps) {
  const t = useLabels();
  const { status, count, through, model, isPart, outline } = inspected;
  const last = isPart ? (outline?.through ?? 0) : (model.records.at(-1)?.offset ?? 0);
  if (status.state === 'failed') {
    const why = status.error instanceof Error ? status.error.message : t.unknownError;
    return (
      <div className="inspector-note" data-tone="bad" role="alert">
        <p>{why}</p>
        <Button size="small" onClick={retry}>
          {t.tryAgain}
        </Button>
      </div>
    );
  }
  if (status.state === 'full') {
    return (
      <p className="inspector-note" data-tone="warn">
        {t.sessionTooLarge(numberText(t, count), through)}
      </p>
    );
  }
  if (status.state === 'loading') {
    return (
      <p className="inspector-note">
        {t.readingRecords} {numberText(t, count)}
      </p>
    );
  }
  if (count === 0) {
    return <p className="inspector-note">{t.nothingRecorded}</p>;
  }
  if (at !== undefined && at > last) {
    return (
      <p className="inspector-note" data-tone="warn">
        {t.linkPastEnd(at, last)}
      </p>
    );
  }
  return null;
}
