import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import './button.css';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: 'main' | 'plain' | 'quiet' | 'danger';
  readonly size?: 'small';
  readonly ref?: Ref<HTMLButtonElement>;
}

/** A button with a text. */
export function Button({ look = 'plain', size, ...others }: ButtonProps) {
  return <button type="button" {...others} className="button" data-look={look} data-size={size} />;
}

interface IconButtonProps extends Omit<ButtonProps, 'aria-label' | 'children'> {
  /** The accessible name and the tooltip. */
  readonly label: string;
  readonly children: ReactNode;
}

/** A button with an icon. Its name is the label. */
export function IconButton({ label, look = 'quiet', size, ...others }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...others}
      className="button"
      data-look={look}
      data-size={size}
      data-shape="icon"
    />
  );
}
