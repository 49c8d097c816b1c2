import { Button } from '../design/button.tsx';
import type { Inspected } from './inspected-session.ts';

export interface InspectorNotesProps {
  readonly inspected: Inspected;
  readonly at: number | undefined;
  readonly retry: () => void;
}

/** What one has to know to read the rest: still loading, too large, failed, nothing there, not reached. */
export function InspectorNotes({ inspected, at, retry }: InspectorNotesProps) {
  const { status, count, through, model } = inspected;
  const last = model.records.at(-1)?.offset ?? 0;
  if (status.state === 'failed') {
    const why = status.error instanceof Error ? status.error.message : 'The reason is not known';
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
        This session is too large for one page: these are its first {count.toLocaleString('en')}{' '}
        records. The rest is on the server, from offset {through} on.
      </p>
    );
  }
  if (status.state === 'loading') {
    return <p className="inspector-note">Reading records … {count.toLocaleString('en')}</p>;
  }
  if (count === 0) {
    return (
      <p className="inspector-note">
        Nothing was recorded yet. Say something, and every word of the answer shows up here.
      </p>
    );
  }
  if (at !== undefined && at > last) {
    return (
      <p className="inspector-note" data-tone="warn">
        The link is to record {at}, which this session does not have: its last is {last}.
      </p>
    );
  }
  return null;
}
