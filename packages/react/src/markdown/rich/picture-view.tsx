import { safeLink } from '@millrace/markdown';
import { type ReactNode, use, useEffect, useState, useSyncExternalStore } from 'react';
import { useMillrace } from '../../context.ts';
import { Button } from '../../design/button.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { BlobSource, type LinkProps, PictureLink, textOf } from '../link-view.tsx';
import { FrameView } from './frame-view.tsx';
import './picture.css';

/** Media types that cannot contain scripts. */
const pictures = /^image\/(?:png|jpeg|gif|webp|avif)$/;
const inlinePicture = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]+$/;
const ownBlob = /^(?:\/?(?:[\w.~-]+\/)*)?blobs\/([\w:.-]{8,128})$/;

/**
 * Shows a picture of Markdown. A picture of the session is shown immediately. A picture on a
 * different server is shown only after the user agrees, because the request tells that server that
 * the text was read.
 */
export function PictureView({ address, children }: LinkProps) {
  const blobs = use(BlobSource);
  const { framesUrl } = useMillrace();
  const [, hash] = ownBlob.exec(address) ?? [];
  if (inlinePicture.test(address)) return <Picture address={address} alt={textOf(children)} />;
  if (hash !== undefined && blobs !== undefined)
    return (
      <BlobPicture hash={hash} address={address}>
        {children}
      </BlobPicture>
    );
  const safe = safeLink(address);
  if (safe?.startsWith('https:') && framesUrl !== undefined)
    return <RemotePicture address={safe}>{children}</RemotePicture>;
  return <PictureLink address={address}>{children}</PictureLink>;
}

function Picture({ address, alt }: { readonly address: string; readonly alt: string }) {
  return <img className="picture" src={address} alt={alt} />;
}

function BlobPicture({ hash, address, children }: LinkProps & { readonly hash: string }) {
  const blobs = use(BlobSource);
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    let made: string | undefined;
    let isOver = false;
    const fail = () => !isOver && setUrl('failed');
    const show = (blob: Blob) => {
      if (isOver) return;
      if (!pictures.test(blob.type)) return fail();
      made = URL.createObjectURL(blob);
      setUrl(made);
    };
    blobs?.blob(hash).then(show, fail);
    return () => {
      isOver = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [blobs, hash]);
  if (url === 'failed') return <PictureLink address={address}>{children}</PictureLink>;
  if (url === undefined) return <span className="picture" data-wait />;
  return <Picture address={url} alt={textOf(children)} />;
}

function RemotePicture({ address, children }: LinkProps) {
  const t = useLabels();
  const { host } = new URL(address);
  const isTrusted = useSyncExternalStore(trusted.subscribe, () => trusted.has(host), noHost);
  const [state, setState] = useState<'asked' | 'shown' | 'failed'>('asked');
  const name = textOf(children) || t.picture;
  if (state === 'failed') return <PictureLink address={address}>{children}</PictureLink>;
  if (state === 'shown' || isTrusted)
    return (
      <span className="picture-frame">
        <FrameView kind="picture" text={address} title={name} onFailed={() => setState('failed')} />
      </span>
    );
  return (
    <PictureCard host={host} name={name}>
      <Button size="small" onClick={() => setState('shown')}>
        {t.showPicture}
      </Button>
      <Button size="small" look="quiet" onClick={() => trusted.add(host)}>
        {t.alwaysFromThisHost}
      </Button>
    </PictureCard>
  );
}

interface PictureCardProps {
  readonly host: string;
  readonly name: string;
  readonly children: ReactNode;
}

function PictureCard({ host, name, children }: PictureCardProps) {
  const t = useLabels();
  return (
    <span className="picture-card">
      <span className="picture-name">{name}</span>
      <span className="picture-host">{t.pictureFrom(host)}</span>
      <span className="picture-buttons">{children}</span>
    </span>
  );
}

const noHost = () => false;

/** Maximum number of hosts that the page remembers as trusted. */
const maxHosts = 100;

/**
 * The hosts whose pictures the page shows without asking. The list is lost when the page is closed.
 */
class TrustedHosts {
  readonly #hosts = new Set<string>();
  readonly #listeners = new Set<() => void>();

  has(host: string): boolean {
    return this.#hosts.has(host);
  }

  add(host: string): void {
    if (this.#hosts.size >= maxHosts) return;
    this.#hosts.add(host);
    for (const listener of [...this.#listeners]) listener();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

const trusted = new TrustedHosts();
