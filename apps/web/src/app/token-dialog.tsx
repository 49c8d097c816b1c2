import { Filled } from '@millrace/react';
import { Button, Dialog } from '@millrace/react/controls';
import { type FormEvent, useEffect, useState } from 'react';
import { pageLabels } from '../languages/page-labels.ts';
import { linkQuestion, readToken, tokenProblem, writeToken } from './browser-storage.ts';
import { requestToken } from './token-sharing.ts';
import './forms.css';

export interface TokenDialogProps {
  readonly onToken?: ((token: string) => void) | undefined;
}

/** Asks the user for the server's access token. */
export function TokenDialog({ onToken = saveToken }: TokenDialogProps) {
  const t = pageLabels();
  const [token, setToken] = useState('');
  const [problemText, setProblemText] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const trimmed = token.trim();
    const problem = tokenProblem(trimmed);
    setProblemText(problem === undefined ? undefined : t.tokenProblem(problem));
    if (problem === undefined) onToken(trimmed);
  };
  // A different tab may have the token. An example: the user opened this tab from a link in that
  // tab.
  useEffect(() => requestToken(onToken), [onToken]);
  const wasRejected = readToken() !== '';
  const message = problemText ?? (wasRejected ? t.storedTokenRefused : undefined);
  return (
    <Dialog title={t.tokenRequired}>
      <form className="form" onSubmit={submit}>
        <p>
          <Filled
            text={t.tokenHelp}
            parts={[
              <code key="serve">millrace serve</code>,
              <code key="variable">MILLRACE_TOKEN</code>,
              <code key="hash">#token=</code>,
            ]}
          />
        </p>
        {message !== undefined && <p role="alert">{message}</p>}
        <label>
          {t.token}
          <input
            type="password"
            autoComplete="off"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <Button look="main" type="submit">
          {t.useIt}
        </Button>
      </form>
    </Dialog>
  );
}

/** Asks whether to sign in with the token of a link, before the page uses it. */
export function LinkTokenDialog({ token }: { readonly token: string }) {
  const t = pageLabels();
  const refuse = () => linkQuestion.ask(undefined);
  return (
    <Dialog title={t.linkTokenQuestion} onClose={refuse}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          saveToken(token);
        }}
      >
        <p>{t.linkTokenRisk}</p>
        <div className="form-buttons">
          <Button onClick={refuse}>{t.doNotSignIn}</Button>
          <Button look="main" type="submit">
            {t.signIn}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function saveToken(token: string): void {
  writeToken(token);
  // A reload repeats all requests that the server rejected.
  location.reload();
}
