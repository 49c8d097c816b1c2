import type { FilePart, MediaPart } from '@millrace/core';
import { safeLink } from '@millrace/markdown';
import { useEffect, useState } from 'react';
import { FileIcon } from '../../design/icons.tsx';
import { Filled, useLabels } from '../../labels/use-labels.ts';
import { withoutToken } from '../../markdown/link-view.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { VisibleText } from './visible-text.tsx';

interface MediaContentProps {
  readonly source: ChatSource;
  readonly part: MediaPart | FilePart;
}

/** Media types that cannot contain scripts. The page shows only these types. */
const pictures = /^image\/(?:png|jpeg|gif|webp|avif)$/;
const sounds = /^audio\/(?:mpeg|mp4|ogg|wav|x-wav|webm|aac|flac)$/;
const films = /^video\/(?:mp4|ogg|webm|quicktime)$/;

/** A PDF opens in its own tab. Browsers show it there with a viewer that cannot access the page. */
const pdf = /^application\/pdf$/;

/**
 * Returns the media type for a blob URL. A blob URL belongs to the page's origin, so an HTML
 * document there could run scripts with the rights of the page. Content that the page does not show
 * gets a type that browsers only save.
 */
function blobType(mimeType: string): string {
  const isShown = [pictures, sounds, films, pdf].some((types) => types.test(mimeType));
  return isShown ? mimeType : 'application/octet-stream';
}

/**
 * Shows an image, audio, a video, or a file to download. Media on other servers become links. The
 * page never loads them.
 */
export function MediaContent({ source, part }: MediaContentProps) {
  const t = useLabels();
  const { mimeType } = part;
  const url = useObjectUrl(source, part);
  const name = part.kind === 'file' ? part.name : mimeType;
  if (part.source.type === 'url') return <RemoteMedia url={part.source.url} name={name} />;
  if (part.source.type === 'provider_file')
    return (
      <p className="media-words">
        <Filled
          text={t.mediaStoredAt}
          parts={[
            <VisibleText key="name" text={name} />,
            <VisibleText key="provider" text={part.source.provider} />,
          ]}
        />
      </p>
    );
  if (url === 'failed')
    return (
      <p className="media-words">
        <Filled text={t.mediaNotLoaded} parts={[<VisibleText key="name" text={name} />]} />
      </p>
    );
  if (url === undefined)
    return (
      <div className="media-wait">
        <Filled text={t.loadingName} parts={[<VisibleText key="name" text={name} />]} />
      </div>
    );
  if (pictures.test(mimeType)) return <img className="media" src={url} alt={name} />;
  if (sounds.test(mimeType)) return <audio {...player} aria-label={name} src={url} />;
  if (films.test(mimeType)) return <video {...player} aria-label={name} src={url} />;
  return (
    <span className="media-buttons">
      <a className="media-file" href={url} download={part.kind === 'file' ? part.name : 'file'}>
        <FileIcon /> <VisibleText text={name} />
      </a>
      {pdf.test(mimeType) && (
        <a className="media-file" href={url} target="_blank" rel="noopener">
          {t.open}
        </a>
      )}
    </span>
  );
}

const player = { className: 'media', controls: true, preload: 'metadata' } as const;

export function RemoteMedia({ url, name }: { readonly url: string; readonly name: string }) {
  const t = useLabels();
  const safe = withoutToken(safeLink(url));
  if (safe === undefined)
    return (
      <p className="media-words">
        <Filled text={t.addressBlocked} parts={[<VisibleText key="name" text={name} />]} />
      </p>
    );
  return (
    <a className="media-file" href={safe} target="_blank" rel="noopener noreferrer nofollow">
      <FileIcon /> <VisibleText text={name} />
    </a>
  );
}

function useObjectUrl(source: ChatSource, { source: of, mimeType }: MediaPart | FilePart) {
  const [url, setUrl] = useState<string | undefined>();
  useEffect(() => {
    let objectUrl: string | undefined;
    let isUnmounted = false;
    const show = (blob: Blob) => {
      if (isUnmounted) return;
      objectUrl = URL.createObjectURL(new Blob([blob], { type: blobType(mimeType) }));
      setUrl(objectUrl);
    };
    if (of.type === 'bytes') show(new Blob([of.bytes as Uint8Array<ArrayBuffer>]));
    if (of.type === 'blob') source.blob(of.hash).then(show, () => !isUnmounted && setUrl('failed'));
    return () => {
      isUnmounted = true;
      if (objectUrl !== undefined) URL.revokeObjectURL(objectUrl);
    };
  }, [source, of, mimeType]);
  return url;
}
