import { type ReactNode, useEffect, useId, useRef } from 'react';
import { IconButton } from './button.tsx';
import { CrossIcon } from './icons.tsx';
import './dialog.css';

export interface DialogProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Without it, the dialog stays until what it asks for is given. */
  readonly onClose?: (() => void) | undefined;
}

/** A modal dialog of the browser's own kind: it keeps the focus, and Escape closes it. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  const onClosed = () => {
    // Asked a second time, a browser closes it whatever is said; what has to be answered comes back.
    const { current } = dialog;
    if (current === null || current.open) return;
    if (onClose) onClose();
    else current.showModal();
  };
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={onClosed}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        {onClose && (
          <IconButton label="Close" onClick={onClose}>
            <CrossIcon />
          </IconButton>
        )}
      </header>
      {children}
    </dialog>
  );
}
