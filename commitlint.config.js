/** Words that a summary starts with when it tells what was done, instead of saying what the commit does. */
const NOT_IMPERATIVE =
  /^(added|adds|adding|fixed|fixes|fixing|changed|changes|changing|updated|updates|updating|removed|removes|removing|moved|moves|moving|renamed|renames|renaming|wip)\b/i;

/** `Imperative sentence` or `Area: what`; then a body that says why (CONTRIBUTING.md). */
module.exports = {
  plugins: [
    {
      rules: {
        'summary-imperative': ({ header }) => {
          const summary = (header ?? '').replace(/^[^:]{1,60}: /, '');
          return [!NOT_IMPERATIVE.test(summary), `say what the commit does ("Add", "Area: what"), not "${summary}"`];
        },
      },
    },
  ],
  rules: {
    'header-max-length': [2, 'always', 100],
    'header-full-stop': [2, 'never', '.'],
    'summary-imperative': [2, 'always'],
    'body-empty': [2, 'never'],
    'body-leading-blank': [2, 'always'],
    'body-max-line-length': [2, 'always', 120],
  },
};
