import { type RefObject, useEffect, useRef } from 'react';
import { IconButton } from '../../design/button.tsx';
import { ClipIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { fileLimits, fileSize } from './picked-files.ts';

interface FilePickerProps {
  readonly isDisabled: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** The button that opens the file dialog of the browser. */
export function FilePicker({ isDisabled, onFiles }: FilePickerProps) {
  const t = useLabels();
  const input = useRef<HTMLInputElement>(null);
  const label = t.attachFiles(fileLimits.count, fileSize(fileLimits.fileBytes));
  return (
    <>
      <IconButton label={label} disabled={isDisabled} onClick={() => input.current?.click()}>
        <ClipIcon />
      </IconButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          // Without this reset, the browser sends no event if the user picks the same file again.
          target.value = '';
        }}
      />
    </>
  );
}

/**
 * Accepts files that the user drops anywhere on the page. While the user drags files, the target
 * has the attribute `data-dropping`.
 */
export function useFileDrop(
  target: RefObject<HTMLElement | null>,
  onFiles: (files: readonly File[]) => void,
): void {
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const mark = (isDropping: boolean) =>
      target.current?.toggleAttribute('data-dropping', isDropping);
    const onDragOver = (event: DragEvent) => {
      // Browsers use this name for files in every language.
      if (!event.dataTransfer?.types.includes('Files')) return;
      // Without this, the browser leaves the page and opens the dropped file.
      event.preventDefault();
      mark(true);
    };
    const onDragLeave = (event: DragEvent) => event.relatedTarget === null && mark(false);
    const onDrop = (event: DragEvent) => {
      mark(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      latest.current(files);
    };
    document.addEventListener('dragover', onDragOver);
    document.addEventListener('dragleave', onDragLeave);
    document.addEventListener('drop', onDrop);
    return () => {
      document.removeEventListener('dragover', onDragOver);
      document.removeEventListener('dragleave', onDragLeave);
      document.removeEventListener('drop', onDrop);
    };
  }, [target]);
}
