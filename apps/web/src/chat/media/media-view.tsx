import type { FilePart, MediaPart } from '@millrace/core';
import { safeLink } from '@millrace/markdown';
import { useEffect, useState } from 'react';
import { FileIcon } from '../../design/icons.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { VisibleText } from '../tool/visible-text.tsx';
import './media-view.css';

export interface MediaViewProps {
  readonly source: ChatSource;
  readonly part: MediaPart | FilePart;
}

/** Pictures that can hold no script. */
const pictures = /^image\/(?:png|jpeg|gif|webp|avif)$/;

/** A picture, a sound, a film, or a file to save. What is elsewhere is linked, never loaded. */
export function MediaView({ source, part }: MediaViewProps) {
  const { mimeType } = part;
  const found = useObjectUrl(source, part);
  const name = part.kind === 'file' ? part.name : mimeType;
  if (part.source.type === 'url') return <Elsewhere url={part.source.url} name={name} />;
  if (found === 'failed')
    return (
      <p className="media-words">
        <VisibleText text={name} /> could not be loaded.
      </p>
    );
  if (found === undefined)
    return (
      <div className="media-wait">
        Loading <VisibleText text={name} /> …
      </div>
    );
  if (pictures.test(mimeType)) return <img className="media" src={found} alt={name} />;
  // biome-ignore lint/a11y/useMediaCaption: nobody made captions for what a model or a tool made
  if (mimeType.startsWith('audio/')) return <audio className="media" src={found} controls />;
  // biome-ignore lint/a11y/useMediaCaption: as above
  if (mimeType.startsWith('video/')) return <video className="media" src={found} controls />;
  return (
    <a className="media-file" href={found} download={part.kind === 'file' ? part.name : 'file'}>
      <FileIcon /> <VisibleText text={name} />
    </a>
  );
}

function Elsewhere({ url, name }: { readonly url: string; readonly name: string }) {
  const safe = safeLink(url);
  if (safe === undefined)
    return (
      <p className="media-words">
        <VisibleText text={name} />, at an address that is not followed.
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
    let made: string | undefined;
    let isOver = false;
    const show = (blob: Blob) => {
      if (isOver) return;
      made = URL.createObjectURL(new Blob([blob], { type: mimeType }));
      setUrl(made);
    };
    if (of.type === 'bytes') show(new Blob([of.bytes as Uint8Array<ArrayBuffer>]));
    if (of.type === 'blob') source.blob(of.hash).then(show, () => !isOver && setUrl('failed'));
    return () => {
      isOver = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [source, of, mimeType]);
  return url;
}
