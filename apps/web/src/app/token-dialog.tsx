import { type FormEvent, useState } from 'react';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { readToken, refusalOfToken, writeToken } from './browser-storage.ts';
import './forms.css';

export interface TokenDialogProps {
  readonly onToken?: ((token: string) => void) | undefined;
}

/** The server wants to know who asks. */
export function TokenDialog({ onToken = takeToken }: TokenDialogProps) {
  const [token, setToken] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    const why = refusalOfToken(given);
    setRefusal(why);
    if (why === undefined) onToken(given);
  };
  const isRefused = readToken() !== '';
  const words = refusal ?? (isRefused ? 'The one that was given is not accepted.' : undefined);
  return (
    <Dialog title="This server wants a token">
      <form className="form" onSubmit={submit}>
        <p>
          It was given to <code>millrace serve</code> as <code>MILLRACE_TOKEN</code>. It is kept
          until this tab is closed.
        </p>
        {words !== undefined && <p role="alert">{words}</p>}
        <label>
          Token
          <input
            type="password"
            autoComplete="off"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <Button look="main" type="submit">
          Use it
        </Button>
      </form>
    </Dialog>
  );
}

function takeToken(token: string): void {
  writeToken(token);
  // All that was refused is asked for again.
  location.reload();
}
