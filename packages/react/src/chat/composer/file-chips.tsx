import type { Attachment } from '@millrace/client';
import { useEffect, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { CrossIcon, FileIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { VisibleText } from '../content/visible-text.tsx';
import { fileSize, type PickedFile } from './picked-files.ts';
import './file-chips.css';

interface FileChipsProps {
  readonly files: readonly PickedFile[];
  readonly onRemove: (key: number) => void;
}

/** Shows the files of an unsent message, each with a button to remove it. */
export function FileChips({ files, onRemove }: FileChipsProps) {
  const t = useLabels();
  return (
    <ul className="file-chips" aria-label={t.filesOfThisMessage}>
      {files.map(({ key, file, state, error }) => (
        <li key={key} className="file-chip" data-state={state}>
          <Thumbnail file={file} />
          <span className="file-chip-words">
            <span className="file-chip-name">
              <VisibleText text={file.name} />
            </span>
            <span className="file-chip-note">
              {state === 'uploading' ? t.sending : (error ?? fileSize(file.size))}
            </span>
          </span>
          {state !== 'uploading' && (
            <IconButton size="small" label={t.removeFile(file.name)} onClick={() => onRemove(key)}>
              <CrossIcon />
            </IconButton>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The media types that the page shows as pictures. These formats cannot contain scripts. */
const pictures = /^image\/(?:png|jpeg|gif|webp|avif)$/;

function Thumbnail({ file }: { readonly file: File }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!pictures.test(file.type)) return;
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return url === undefined ? <FileIcon /> : <img className="file-chip-picture" src={url} alt="" />;
}

/**
 * Lists the files of a message by name and size. It is used where the page does not show the
 * content.
 */
export function AttachmentNames({ files }: { readonly files: readonly Attachment[] }) {
  const t = useLabels();
  return (
    <ul className="file-chips" aria-label={t.filesOfTheMessage}>
      {files.map(({ file_id, name, size }) => (
        <li key={file_id} className="file-chip">
          <FileIcon />
          <span className="file-chip-words">
            <span className="file-chip-name">
              <VisibleText text={name} />
            </span>
            <span className="file-chip-note">{fileSize(size)}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}
