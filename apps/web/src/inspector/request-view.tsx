import type { PastRequest } from '@millrace/client';
import type { Attempt } from '@millrace/core';
import { useRef, useState } from 'react';
import { CodeView } from '../markdown/code-view.tsx';

export type ReadRequest = (at: Attempt) => Promise<PastRequest>;

export interface RequestViewProps extends Attempt {
  readonly readRequest: ReadRequest;
}

type Read =
  | { readonly state: 'unread' | 'reading' }
  | { readonly state: 'read'; readonly request: PastRequest }
  | { readonly state: 'failed'; readonly why: string };

/** What the model was asked in an attempt: made again by the server when somebody unfolds it. */
export function RequestView({ turn, attempt, readRequest }: RequestViewProps) {
  const [read, setRead] = useState<Read>({ state: 'unread' });
  const isAsked = useRef(false);
  const unfold = async () => {
    if (isAsked.current) return;
    isAsked.current = true;
    setRead({ state: 'reading' });
    try {
      setRead({ state: 'read', request: await readRequest({ turn, attempt }) });
    } catch (error) {
      // Whoever unfolds it again tries again.
      isAsked.current = false;
      setRead({
        state: 'failed',
        why: error instanceof Error ? error.message : 'The reason is not known',
      });
    }
  };
  return (
    <details
      className="record-request"
      onToggle={({ currentTarget }) => void (currentTarget.open && unfold())}
    >
      <summary>
        The request of turn {turn}, attempt {attempt}
      </summary>
      {read.state === 'reading' && <p className="record-note">Rebuilding the request …</p>}
      {read.state === 'failed' && (
        <p className="record-note" role="alert">
          {read.why}
        </p>
      )}
      {read.state === 'read' && <Request {...read.request} />}
    </details>
  );
}

function Request({ provider, model, url, body, notes }: PastRequest) {
  return (
    <>
      <dl>
        <div>
          <dt>Asked</dt>
          <dd>
            {model} <small>of {provider}</small>
          </dd>
        </div>
        {url !== null && (
          <div>
            <dt>POST</dt>
            <dd>
              <code>{url}</code>
            </dd>
          </div>
        )}
      </dl>
      {notes.map((note) => (
        <p key={note} className="record-note">
          {note}
        </p>
      ))}
      {body !== null && <CodeView text={JSON.stringify(body, null, 2)} lang="json" isDone />}
    </>
  );
}
