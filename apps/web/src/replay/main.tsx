// The code of a session that was exported as an HTML file. The file contains this code and the records, and
// loads nothing.
import { MillraceRoot, type SessionLinkProps } from '@millrace/react';
import { Replay } from '@millrace/react/inspector';
import { createContext, StrictMode, useContext, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { type Recording, readRecording } from './recording.ts';

/** Shows another session of the file. Undefined if the file does not contain it. */
type OpenSession = (id: string) => (() => void) | undefined;

const OpenSessionContext = createContext<OpenSession>(() => undefined);

/** A link to the session of a sub-agent in the same file. */
function SessionButton({ id, children }: SessionLinkProps) {
  const open = useContext(OpenSessionContext)(id);
  if (open === undefined) return children;
  return (
    <button type="button" className="button" data-look="quiet" data-size="small" onClick={open}>
      {children}
    </button>
  );
}

function RecordingView({ recording }: { readonly recording: Recording }) {
  const { sessions, blob } = recording;
  const [id, setId] = useState(sessions[0]?.id);
  const shown = sessions.find((session) => session.id === id);
  if (shown === undefined) return <p role="alert">This file contains no session.</p>;
  const open: OpenSession = (other) =>
    sessions.some((session) => session.id === other) ? () => setId(other) : undefined;
  const choice = (
    <header className="file-sessions">
      <label>
        Session{' '}
        <select value={shown.id} onChange={({ target }) => setId(target.value)}>
          {sessions.map((session) => (
            <option key={session.id} value={session.id}>
              {session.title}
            </option>
          ))}
        </select>
      </label>
    </header>
  );
  return (
    <OpenSessionContext value={open}>
      <Replay
        key={shown.id}
        session={shown.id}
        records={shown.records}
        blob={blob}
        header={sessions.length > 1 ? choice : undefined}
      />
    </OpenSessionContext>
  );
}

const root = createRoot(document.getElementById('root') ?? document.body);
try {
  const recording = await readRecording(document.getElementById('records')?.textContent ?? '');
  const [first] = recording.sessions;
  if (first !== undefined) document.title = first.title;
  root.render(
    <StrictMode>
      <MillraceRoot SessionLink={SessionButton}>
        <RecordingView recording={recording} />
      </MillraceRoot>
    </StrictMode>,
  );
} catch {
  root.render(
    <p role="alert">The records in this file are damaged. Export the session once more.</p>,
  );
}
