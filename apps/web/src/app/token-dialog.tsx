import { type FormEvent, useState } from 'react';
import { Button } from '../design/button.tsx';
import { Dialog } from '../design/dialog.tsx';
import { readToken, writeToken } from './api.ts';
import './forms.css';

/** The server wants to know who asks. */
export function TokenDialog() {
  const [token, setToken] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    writeToken(token.trim());
    // All that was refused is asked for again.
    location.reload();
  };
  return (
    <Dialog title="This server wants a token">
      <form className="form" onSubmit={submit}>
        <p>
          It was given to <code>millrace serve</code> as <code>MILLRACE_TOKEN</code>. It is kept
          until this tab is closed.
        </p>
        {readToken() !== '' && <p role="alert">The one that was given is not accepted.</p>}
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
