import { Button } from '../design/button.tsx';
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
  const { status, count, through, model, isPart, outline } = inspected;
  const last = isPart ? (outline?.through ?? 0) : (model.records.at(-1)?.offset ?? 0);
  if (status.state === 'failed') {
    const why = status.error instanceof Error ? status.error.message : 'Unknown error';
    return (
      <div className="inspector-note" data-tone="bad" role="alert">
        <p>{why}</p>
        <Button size="small" onClick={retry}>
          Try again
        </Button>
      </div>
    );
  }
  if (status.state === 'full') {
    return (
      <p className="inspector-note" data-tone="warn">
        This session is too large for the page. These are its first {count.toLocaleString('en')}{' '}
        records. The server has the rest, from offset {through} on.
      </p>
    );
  }
  if (status.state === 'loading') {
    return <p className="inspector-note">Reading records … {count.toLocaleString('en')}</p>;
  }
  if (count === 0) {
    return (
      <p className="inspector-note">
        Nothing was recorded yet. Send a message, and its records appear here.
      </p>
    );
  }
  if (at !== undefined && at > last) {
    return (
      <p className="inspector-note" data-tone="warn">
        The link points to record {at}, but the last record of this session is {last}.
      </p>
    );
  }
  return null;
}
