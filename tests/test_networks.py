"""The encoder never sees the element it speaks about, whatever the padding."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from oddshift.attackers.informed_network import VIEWS, Encoder  # noqa: E402

WIDTH, LENGTH = 8, 6


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture
def network():
    return Encoder(WIDTH)


def inputs(batch=3, length=LENGTH):
    return torch.randn(batch, length, WIDTH), torch.randn(batch, length, WIDTH), torch.ones(batch, length).bool()


def test_the_gradient_at_its_own_element_is_zero(network):
    elements, places, real = inputs()
    elements.requires_grad_()
    out = network(elements, places, real)
    assert out.shape == (3, LENGTH, VIEWS, WIDTH)
    for spot in range(LENGTH):
        (gradient,) = torch.autograd.grad(out[:, spot].pow(2).sum(), elements, retain_graph=True)
        assert (gradient[:, spot] == 0).all()
        others = [s for s in range(LENGTH) if s != spot]
        assert (gradient[:, others].abs().sum(dim=-1) > 0).all()  # and it does read every other one


def test_replacing_its_own_element_changes_nothing(network):
    elements, places, real = inputs()
    out = network(elements, places, real)
    for spot in range(LENGTH):
        other = elements.clone()
        other[:, spot] = 100.0 * torch.randn(3, WIDTH)
        assert torch.equal(network(other, places, real)[:, spot], out[:, spot])


def test_padding_is_not_read(network):
    elements, places, real = inputs()
    real[1, 4:] = False
    real[2, 1:] = False
    out = network(elements, places, real)
    scrambled = torch.where(real[:, :, None], elements, 50.0)
    torch.testing.assert_close(network(scrambled, places, real)[real], out[real])
    short = network(elements[1:2, :4], places[1:2, :4], real[1:2, :4])
    torch.testing.assert_close(short[0], out[1, :4])


def test_an_element_alone_is_the_same_whatever_it_is(network):
    elements, places, real = inputs(length=1)
    out = network(elements, places, real)
    assert torch.equal(network(elements + 5.0, places, real), out)


def test_order_matters(network):
    elements, places, real = inputs()
    swapped = elements[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(network(elements, places, real)[:, 4], network(swapped, places, real)[:, 4])


def test_the_package_does_not_import_torch():
    code = "import sys, oddshift, oddshift.attackers, oddshift.attackers.training; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
