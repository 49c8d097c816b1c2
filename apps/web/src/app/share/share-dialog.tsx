import { errorText } from '@millrace/react';
import { Button, Dialog, dayOrTime, TimeText } from '@millrace/react/controls';
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { pageLabels } from '../../languages/page-labels.ts';
import { useAccess, useApp } from '../app-context.ts';
import { hrefOf } from '../route.tsx';
import '../forms.css';
import './share-dialog.css';

/** The lifetimes that the user can choose for a link, in seconds. */
const lifetimes = [
  ['hour', 3600],
  ['day', 24 * 3600],
  ['sevenDays', 7 * 24 * 3600],
  ['thirtyDays', 30 * 24 * 3600],
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
  const t = pageLabels();
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
      setError(errorText(reason, t));
    }
  };
  useEffect(() => {
    load().catch((reason: unknown) => setError(errorText(reason, t)));
  }, [load, t]);
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
    <Dialog title={t.shareThisSession} onClose={onClose}>
      <form className="form" onSubmit={create}>
        <p>{t.shareMeaning}</p>
        {!isTokenRequired && <p role="note">{t.openServerNote}</p>}
        <label>
          {t.theLinkWorksFor}
          <select value={lifetime} onChange={({ target }) => setLifetime(Number(target.value))}>
            {lifetimes.map(([text, seconds]) => (
              <option key={text} value={seconds}>
                {t[text]}
              </option>
            ))}
          </select>
        </label>
        {error !== undefined && <p role="alert">{error}</p>}
        <Button look="main" type="submit">
          {t.createALink}
        </Button>
      </form>
      {link !== undefined && <NewLink link={link} />}
      {links.length > 0 && (
        <section className="share-links" aria-label={t.linksOfThisSession}>
          <h3>{t.linksOfThisSession}</h3>
          <ul>
            {links.map((one) => (
              <li key={one.id}>
                <span>
                  {t.created} <TimeText at={Date.parse(one.created_at)} format={dayOrTime} />
                  {one.expires_at !== null && (
                    <>
                      {', '}
                      {t.expires} <TimeText at={Date.parse(one.expires_at)} format={dayOrTime} />
                    </>
                  )}
                </span>
                <Button
                  size="small"
                  onClick={() => void run(async () => void (await api.delete(`/tokens/${one.id}`)))}
                >
                  {t.revoke}
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
  const t = pageLabels();
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
        aria-label={t.link}
        readOnly
        value={link}
        onFocus={({ target }) => target.select()}
      />
      <Button onClick={() => void copy()}>{t.copy}</Button>
      <p role="status">{isCopied ? t.linkCopied : t.copyLinkNow}</p>
    </div>
  );
}
