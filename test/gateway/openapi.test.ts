// tier: integration
import { INFERENCE_ROUTES } from '../../gateway/handle-inference';
import { PLAIN_ROUTES } from '../../gateway/handle-plain';
import { openApi } from '../../gateway/openapi';

test('the OpenAPI document has every route, and no other', () => {
  expect(Object.keys(openApi(['desk']).paths).sort()).toEqual(
    [...Object.keys(INFERENCE_ROUTES), ...Object.keys(PLAIN_ROUTES)].sort(),
  );
});
