import { Button, Dialog } from '@millrace/react/controls';
import { type FormEvent, useEffect, useState } from 'react';
import { readToken, tokenProblem, writeToken } from './browser-storage.ts';
import { requestToken } from './token-sharing.ts';
import './forms.css';

export interface TokenDialogProps {
  readonly onToken?: ((token: string) => void) | undefined;
}

/** Asks the user for the server's access token. */
export function TokenDialog({ onToken = saveToken }: TokenDialogProps) {
  const [token, setToken] = useState('');
  const [problemText, setProblemText] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const trimmed = token.trim();
    const problem = tokenProblem(trimmed);
    setProblemText(problem);
    if (problem === undefined) onToken(trimmed);
  };
  // A different tab may have the token. An example: the user opened this tab from a link in that
  // tab.
  useEffect(() => requestToken(onToken), [onToken]);
  const wasRejected = readToken() !== '';
  const message =
    problemText ?? (wasRejected ? 'The server does not accept the stored token.' : undefined);
  return (
    <Dialog title="This server requires a token">
      <form className="form" onSubmit={submit}>
        <p>
          Open the link that <code>millrace serve</code> printed when it started, or enter the
          token: the value of <code>MILLRACE_TOKEN</code>, or the text after <code>#token=</code> in
          that link. The browser keeps it until you close this tab.
        </p>
        {message !== undefined && <p role="alert">{message}</p>}
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

function saveToken(token: string): void {
  writeToken(token);
  // A reload repeats all requests that the server rejected.
  location.reload();
}
