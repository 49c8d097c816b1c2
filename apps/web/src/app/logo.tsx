export function Logo({ size = 22 }: { readonly size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M6 12q5-4.5 10 0t10 0M6 20q5-4.5 10 0t10 0" />
    </svg>
  );
}
