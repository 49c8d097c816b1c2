import { errorText } from '@millrace/react';
import { Button, Dialog, dayOrTime, TimeText } from '@millrace/react/controls';
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { useAccess, useApp } from '../app-context.ts';
import { hrefOf } from '../route.tsx';
import '../forms.css';
import './share-dialog.css';

/** The lifetimes that the user can choose for a link, in seconds. */
const lifetimes = [
  ['1 hour', 3600],
  ['1 day', 24 * 3600],
  ['7 days', 7 * 24 * 3600],
  ['30 days', 30 * 24 * 3600],
] as const;

/** The label of all tokens for shared links. The page uses it to find these tokens. */
const label = 'share link';

/**
 * A link that was created earlier. The server does not store its address, so the page cannot show
 * it again.
 */
interface SharedLink {
  readonly id: string;
  readonly label: string | null;
  readonly read_only: boolean;
  readonly created_at: string;
  readonly expires_at: string | null;
}

export interface ShareDialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** A dialog to create and revoke links. A link lets other people read one session. */
export function ShareDialog({ id, onClose }: ShareDialogProps) {
  const { api } = useApp();
  const { isTokenRequired } = useAccess();
  const [lifetime, setLifetime] = useState<number>(lifetimes[1][1]);
  const [links, setLinks] = useState<readonly SharedLink[]>([]);
  const [link, setLink] = useState<string>();
  const [error, setError] = useState<string>();
  const load = useCallback(async () => {
    const found = await api.get(`/tokens?task_id=${encodeURIComponent(id)}`);
    setLinks((found as unknown as readonly SharedLink[]).filter((one) => one.label === label));
  }, [api, id]);
  const run = async (work: () => Promise<void>) => {
    setError(undefined);
    try {
      await work();
      await load();
    } catch (reason) {
      setError(errorText(reason));
    }
  };
  useEffect(() => {
    load().catch((reason: unknown) => setError(errorText(reason)));
  }, [load]);
  const create = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      const body = { task_id: id, read_only: true, expires_in: lifetime, label };
      const { token } = (await api.post('/tokens', body)) as unknown as { token: string };
      const path = hrefOf({ page: 'task', id });
      setLink(`${location.origin}${path}#token=${encodeURIComponent(token)}`);
    });
  };
  return (
    <Dialog title="Share this session" onClose={onClose}>
      <form className="form" onSubmit={create}>
        <p>
          Anybody with the link can read this session and its later messages until the link expires
          or you revoke it. They cannot write, answer questions, or see other sessions.
        </p>
        {!isTokenRequired && (
          <p role="note">
            This server requires no token. Everybody who can reach it can see and change everything,
            also without a link.
          </p>
        )}
        <label>
          The link works for
          <select value={lifetime} onChange={({ target }) => setLifetime(Number(target.value))}>
            {lifetimes.map(([text, seconds]) => (
              <option key={text} value={seconds}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {error !== undefined && <p role="alert">{error}</p>}
        <Button look="main" type="submit">
          Create a link
        </Button>
      </form>
      {link !== undefined && <NewLink link={link} />}
      {links.length > 0 && (
        <section className="share-links" aria-label="Links of this session">
          <h3>Links of this session</h3>
          <ul>
            {links.map((one) => (
              <li key={one.id}>
                <span>
                  created <TimeText at={Date.parse(one.created_at)} format={dayOrTime} />
                  {one.expires_at !== null && (
                    <>
                      , expires <TimeText at={Date.parse(one.expires_at)} format={dayOrTime} />
                    </>
                  )}
                </span>
                <Button
                  size="small"
                  onClick={() => void run(async () => void (await api.delete(`/tokens/${one.id}`)))}
                >
                  Revoke
                </Button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Dialog>
  );
}

/**
 * Shows the address of a new link. The server does not store the address, so the page shows it only
 * once.
 */
function NewLink({ link }: { readonly link: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    field.current?.select();
    // Browsers refuse access to the clipboard on pages without TLS. In this case the page selects
    // the link, and the user presses Ctrl+C.
    await navigator.clipboard?.writeText(link).then(
      () => setCopied(true),
      () => {},
    );
  };
  return (
    <div className="share-new">
      <input
        ref={field}
        aria-label="Link"
        readOnly
        value={link}
        onFocus={({ target }) => target.select()}
      />
      <Button onClick={() => void copy()}>Copy</Button>
      <p role="status">{isCopied ? 'Copied.' : 'Copy it now. It is not shown again.'}</p>
    </div>
  );
}
