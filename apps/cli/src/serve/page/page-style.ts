export const pageStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 70rem; padding: 0 1rem 2rem; }
header { display: flex; align-items: baseline; gap: 1rem; border-bottom: 1px solid #8884; }
header p { margin: 0 auto 0 0; opacity: 0.75; }
h1 { font-size: 1.25rem; }
h2 { font-size: 1rem; margin: 1rem 0 0.5rem; }
main { display: grid; grid-template-columns: minmax(12rem, 1fr) 3fr; gap: 2rem; }
ul, ol { list-style: none; margin: 0; padding: 0; }
nav button { width: 100%; text-align: left; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button { font: inherit; padding: 0.25rem 0.75rem; border: 1px solid #8886; border-radius: 0.25rem; background: none; cursor: pointer; }
button[aria-current] { background: #8883; }
li { margin-bottom: 0.25rem; }
#messages li { margin: 0 0 0.75rem; padding: 0.5rem 0.75rem; border-left: 3px solid #8886; white-space: pre-wrap; overflow-wrap: anywhere; }
#messages li[data-author=user] { border-color: #36c; }
#messages li[data-kind=reasoning], #messages li[data-kind^=tool] { opacity: 0.75; font-size: 0.875rem; }
#messages li[data-open]::after { content: '▍'; }
textarea { box-sizing: border-box; display: block; width: 100%; font: inherit; margin: 0.25rem 0 0.5rem; }
@media (max-width: 40rem) { main { grid-template-columns: 1fr; gap: 0; } }
`;
